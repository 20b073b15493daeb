import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 5)
y = x[:, :1] + 0.3 * torch.randn(128, 1)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)
best, kept = float("inf"), []
for epoch in range(5):
    for rows in torch.randperm(96).split(32):
        optimizer.zero_grad()
        F.mse_loss(model(x[rows]), y[rows]).backward()
        optimizer.step()
    with torch.no_grad():
        held = F.mse_loss(model(x[96:]), y[96:]).item()
    if epoch == 0:
        best, kept = held, [p.data.clone() for p in model.parameters()]
with torch.no_grad():
    for p, q in zip(model.parameters(), kept):
        p.copy_(q)
