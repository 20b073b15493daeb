"""Each epoch removes its hook, one of them by `with`."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    handle = model.register_forward_hook(lambda m, a, out: out + 0.01 * torch.randn_like(out))
    with model.register_forward_pre_hook(lambda m, a: None):
        for rows in x.split(10):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(rows), rows[:, :1])
            loss.backward()
            optimizer.step()
    handle.remove()
print(loss.item())
