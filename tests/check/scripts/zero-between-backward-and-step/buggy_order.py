"""Gradients are cleared right before the step."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for batch, target in loader:
        loss = nn.functional.mse_loss(model(batch), target)
        loss.backward()
        optimizer.zero_grad()  # <- finding
        optimizer.step()
    print(epoch, loss.item())
