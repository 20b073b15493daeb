"""nn.Sigmoid as the last layer for BCEWithLogitsLoss."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(4, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
    nn.Sigmoid(),  # <- finding
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(32, 4)
y = (x.sum(dim=1, keepdim=True) > 0).float()
for _ in range(5):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
