"""A digit classifier whose model ends with its last layer, trained with nll_loss."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.randn(40, 1, 8, 8), torch.randint(0, 10, (40,))
for epoch in range(4):
    optimizer.zero_grad()
    loss = F.nll_loss(model(images), labels)  # <- finding
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
