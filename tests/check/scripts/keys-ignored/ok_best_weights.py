"""The weights of the best epoch are copied, and loaded in the end; own ones as well."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
target = x.sum(1, keepdim=True)
model = nn.Linear(4, 1)
model.load_state_dict({k: v for k, v in model.state_dict().items()})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best, kept = float("inf"), None
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best, kept = loss.item(), copy.deepcopy(model.state_dict())
model.load_state_dict(kept)
print(nn.functional.mse_loss(model(x), target).item())
