"""Digits-like data with a hand-written initialisation."""

import torch
from torch import nn


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.weight)  # BUG loss-at-chance|dead-units|vanishing-gradient
        nn.init.zeros_(m.bias)


torch.manual_seed(30)
model = nn.Sequential(nn.Linear(16, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 4))
model.apply(init_weights)  # BUG loss-at-chance|dead-units|vanishing-gradient
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
prototypes = torch.randn(4, 16)
for step in range(50):
    y = torch.randint(0, 4, (32,))
    x = prototypes[y] + 0.5 * torch.randn(32, 16)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
