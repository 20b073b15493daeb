"""Test, then train, on a stream; and Q-learning, whose targets come from states that were trained on."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    x = torch.randn(8, 4)
    y = x.sum(dim=1, keepdim=True)
    with torch.no_grad():
        print("before", F.mse_loss(model(x), y).item())
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()

q = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(q.parameters(), lr=0.01)
walk = torch.randn(21, 3)
for _ in range(6):
    at = torch.randint(0, 20, (8,))
    with torch.no_grad():
        best = q(walk[at + 1]).max(dim=1).values
    chosen = q(walk[at]).max(dim=1).values
    loss = F.smooth_l1_loss(chosen, 1.0 + 0.9 * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
