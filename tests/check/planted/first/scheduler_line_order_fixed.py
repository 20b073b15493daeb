"""Cosine schedule per batch for a small classifier."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)
for step in range(200):
    x = torch.randn(64, 10)
    y = (x[:, 0] + x[:, 1] ** 2 > 1).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
x = torch.randn(500, 10)
with torch.no_grad():
    acc = (model(x).argmax(1) == (x[:, 0] + x[:, 1] ** 2 > 1).long()).float().mean()
print("loss", loss.item(), "acc", acc.item())
