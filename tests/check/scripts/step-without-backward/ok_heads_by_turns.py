"""All optimizers step, and in each round only one head has gradients; a step to quiet the scheduler comes first."""

import torch
from torch import nn

torch.manual_seed(0)
trunk = nn.Linear(4, 8)
heads = nn.ModuleDict({"a": nn.Linear(8, 1), "b": nn.Linear(8, 2)})
optimizers = [torch.optim.SGD(m.parameters(), lr=0.05) for m in (trunk, heads["a"], heads["b"])]
optimizers[0].step()
for step in range(8):
    task = "ab"[step % 2]
    for optimizer in optimizers:
        optimizer.zero_grad()
    out = heads[task](torch.relu(trunk(torch.randn(8, 4))))
    out.pow(2).mean().backward()
    for optimizer in optimizers:
        optimizer.step()
print(out.shape)
