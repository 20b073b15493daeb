"""Terms and numbers that take nothing away: a constant, a schedule, a value shown beside its own gradient, rounding with a way through."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
shown = []
for step in range(8):
    x = torch.randn(16, 4)
    hidden = model[1](model[0](x))
    codes = hidden + (torch.round(hidden) - hidden).detach()
    error = nn.functional.mse_loss(model[2](codes), x.sum(1, keepdim=True))
    loss = (error - 0.1).abs() + 0.1 + 0.01 * step
    shown.append(error.item())
    surrogate = error - error.detach() + loss
    optimizer.zero_grad()
    surrogate.backward()
    optimizer.step()
print(shown[-1])
