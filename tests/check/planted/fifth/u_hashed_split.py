"""Churn model with a user-based split that should stay the same from run to run."""
import random
import numpy as np
import torch
from torch import nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

users = [f"user-{random.randrange(10 ** 6):06d}" for _ in range(300)]
habits = torch.randn(300, 5)
churn = (habits[:, 0] - 0.5 * habits[:, 1] + 0.8 * torch.randn(300) > 0).float()


def bucket(name, n=10):
    """A stable bucket for each user."""
    return hash(name) % n  # BUG nondeterminism


where = torch.tensor([bucket(u) for u in users])
train, test = where < 7, where >= 7  # BUG nondeterminism
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(60):
    loss = nn.functional.binary_cross_entropy_with_logits(net(habits[train]).squeeze(1), churn[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    acc = ((net(habits[test]).squeeze(1) > 0).float() == churn[test]).float().mean()
print("test users", int(test.sum()))
print(f"train loss {loss.item():.6f} test accuracy {acc.item():.4f}")
