"""The slow weights of a lookahead are the fast ones, detached."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
slow = [p.detach() for p in model.parameters()]  # <- finding
for step in range(8):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 2:
        with torch.no_grad():
            for p, s in zip(model.parameters(), slow):
                s.add_(p - s, alpha=0.5)
                p.copy_(s)
print(loss.item())
