"""An object that records features is made for each evaluation, and never closed."""

import torch
from torch import nn


class Tap:
    def __init__(self, layer):
        self.kept = []
        layer.register_forward_hook(self)  # <- finding

    def __call__(self, module, args, out):
        self.kept.append(out.detach().mean().item())


torch.manual_seed(0)
x = torch.randn(30, 4)
model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    for part in x.split(10):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(part), part[:, :1]).backward()
        optimizer.step()
    tap = Tap(model[0])
    with torch.no_grad():
        model(x)
    print(tap.kept)
