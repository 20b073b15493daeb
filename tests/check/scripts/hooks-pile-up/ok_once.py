"""Several hooks on one layer, all registered before training."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
model = nn.Linear(4, 1)
means = {}
for k in range(4):
    model.register_forward_hook(lambda m, a, out, k=k: means.update({k: out.mean().item() + k}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in x.split(8):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(rows), rows[:, :1])
    loss.backward()
    optimizer.step()
print(loss.item(), means)
