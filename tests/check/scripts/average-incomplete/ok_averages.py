"""Averages that are kept: in place, by assignment to `.data`, in a dictionary, in a list."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2))
average, target = copy.deepcopy(model), copy.deepcopy(model)
state = {name: p.detach().clone() for name, p in model.named_parameters()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(20):
    x = 3 + torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 3).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.lerp_(p, 0.1)
        for a, b in zip(average.buffers(), model.buffers()):
            a.copy_(b)
        for t, p in zip(target.parameters(), model.parameters()):
            t.data = 0.9 * t + 0.1 * p
        for name, p in model.named_parameters():
            state[name] = 0.9 * state[name] + 0.1 * p
        sizes = []
        for t, p in zip(target.parameters(), model.parameters()):
            t = 0.5 * t + 0.5 * p
            sizes.append(t.norm().item())
        average.eval()
        held = average(x)
        average.train()
print(loss.item(), held.sum().item(), sizes)
