"""Dropout left on to measure uncertainty, and a generator in train mode that makes samples for its critic."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 3), torch.randn(32, 1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    draws = torch.stack([model(x) for _ in range(10)])
print("uncertainty", draws.std(dim=0).mean().item())

G = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
D = nn.Linear(3, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), 0.05), torch.optim.SGD(D.parameters(), 0.05)
for _ in range(3):
    with torch.no_grad():
        fake = G(torch.randn(16, 2))
    d_loss = nn.functional.softplus(D(fake)).mean() + nn.functional.softplus(-D(x[:16])).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = nn.functional.softplus(-D(G(torch.randn(16, 2)))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    print(d_loss.item(), g_loss.item())
