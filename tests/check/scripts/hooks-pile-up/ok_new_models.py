"""A model for each fold, with a hook each, and hooks on results of the forward pass."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
sizes = []
for fold in range(4):
    model = nn.Linear(4, 1)
    model.register_forward_hook(lambda m, a, out: sizes.append(out.shape[0]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows in x.split(20):
        optimizer.zero_grad()
        out = model(rows)
        out.register_hook(lambda g: g.clamp(-1, 1))
        nn.functional.mse_loss(out, rows[:, :1]).backward()
        optimizer.step()
print(sum(sizes))
