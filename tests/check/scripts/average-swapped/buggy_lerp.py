"""`lerp_` wants the weight of the new values, and gets the decay."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
model = nn.Linear(4, 1)
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    for rows in x.split(10):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), rows.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.99)  # <- finding
print(loss.item())
