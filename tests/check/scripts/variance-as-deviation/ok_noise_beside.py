"""A Poisson rate exp(v) with noise of its own, and the loss exp(v) - y * v; noise of a fixed size."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    x = torch.randn(32, 4)
    y = torch.poisson(torch.exp(x[:, :1]))
    v = model(x)
    rate = v.exp()
    rough = rate * torch.randn_like(rate)
    loss = (rate - y * v).mean() + 0.01 * (1 + v - rate + rough).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
