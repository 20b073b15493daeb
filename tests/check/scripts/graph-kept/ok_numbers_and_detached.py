"""Losses as numbers, running totals of detached values, and an average of the weights without a graph."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
average = [p.detach().clone() for p in model.parameters()]
losses, totals, total = [], [], torch.zeros(())
for step in range(10):
    x, y = torch.randn(16, 5), torch.randint(0, 2, (16,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    totals.append(loss.detach())
    total += loss.detach()
    with torch.no_grad():
        for a, p in zip(average, model.parameters()):
            a.mul_(0.9).add_(p, alpha=0.1)
print(sum(losses) / len(losses), torch.stack(totals).mean().item(), total.item())
