"""A function of each task's own, in a dictionary."""

import torch
from torch import nn

torch.manual_seed(0)


def losses(weights):
    found = {}
    for task, weight in weights.items():

        def weighted(prediction, target):  # <- finding
            return weight * nn.functional.mse_loss(prediction, target)

        found[task] = weighted
    return found


x = torch.randn(40, 3)
targets = {"depth": x[:, :1] * 2, "slope": x[:, 1:2]}
criteria = losses({"depth": 1.0, "slope": 0.1})
trunk = nn.Linear(3, 8)
heads = nn.ModuleDict({name: nn.Linear(8, 1) for name in targets})
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    h = torch.tanh(trunk(x))
    sum(criteria[name](heads[name](h), targets[name]) for name in targets).backward()
    optimizer.step()
