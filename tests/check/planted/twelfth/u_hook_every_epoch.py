"""Activations are watched with a forward hook."""

import torch
from torch import nn

torch.manual_seed(61)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
stats = {}


def watch(module, name):
    def hook(mod, inputs, output):
        stats[name] = output.detach().abs().mean().item()

    module.register_forward_hook(hook)  # BUG memory-growth


w = torch.randn(6)
for epoch in range(40):
    watch(model[1], "relu")  # BUG memory-growth
    x = torch.randn(32, 6)
    y = (x @ w > 0).long()
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
print(stats, loss.item())
