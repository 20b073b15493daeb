"""The loss is computed, and backward is forgotten."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(40, 5), torch.randint(0, 3, (40,))
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    optimizer.zero_grad()
    output = model(x)
    loss = criterion(output, y)
    optimizer.step()  # <- finding
    print(epoch, loss.item())
