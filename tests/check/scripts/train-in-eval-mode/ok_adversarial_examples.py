"""Adversarial training: the attack needs gradients of the model in eval mode, the update is made in train mode."""

import torch
import torch.nn.functional as F
from torch import nn


def attack(model, x, y, size=0.1):
    model.eval()
    x_adv = x.clone().requires_grad_(True)
    F.cross_entropy(model(x_adv), y).backward()
    model.train()
    return (x + size * x_adv.grad.sign()).detach()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(32, 6), torch.randint(0, 2, (32,))
for step in range(4):
    x_adv = attack(model, x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x_adv), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
