"""One optimizer steps before the gradients of the other are clipped."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
first = torch.optim.SGD(model[0].parameters(), lr=0.05)
second = torch.optim.SGD(model[2].parameters(), lr=0.05)
for step in range(8):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    first.step()
    nn.utils.clip_grad_norm_(model[2].parameters(), 1.0)
    second.step()
    first.zero_grad()
    second.zero_grad()
print(loss.item())
