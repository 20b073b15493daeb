"""The parameters to unfreeze come from a generator that has ended."""

from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def frozen(module):
    params = (p for p in module.parameters() if p.requires_grad)
    for p in params:  # <- finding
        p.requires_grad_(False)
    try:
        yield module
    finally:
        for p in params:
            p.requires_grad_(True)


def probe(trunk, x, z, steps=10):
    """How well does a linear probe read z from the features?"""
    reader = nn.Linear(32, 1)
    opt = torch.optim.Adam(reader.parameters(), lr=3e-2)
    with frozen(trunk):
        for _ in range(steps):
            loss = nn.functional.mse_loss(reader(trunk(x)), z)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(0)
x = torch.randn(400, 3)
z = x[:, :1].abs()
y = ((x**2).sum(1) > 2.4).long()
trunk = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
head = nn.Linear(32, 2)
opt = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=0.2, momentum=0.9)
for epoch in range(20):
    if epoch % 5 == 0:
        print(f"epoch {epoch} probe {probe(trunk, x, z):.4f}")
    for idx in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(head(trunk(x[idx])), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("accuracy", round((head(trunk(x)).argmax(1) == y).float().mean().item(), 3))
print("trunk trains:", all(p.requires_grad for p in trunk.parameters()))
