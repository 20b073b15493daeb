"""Two losses, two optimizers, one trunk: the first step changes what the second backward needs."""

import torch
from torch import nn

torch.manual_seed(72)
trunk = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU())
mean, spread = nn.Linear(24, 1), nn.Linear(24, 1)
opt_a = torch.optim.SGD([*trunk.parameters(), *mean.parameters()], lr=0.05)
opt_b = torch.optim.SGD([*trunk.parameters(), *spread.parameters()], lr=0.05)
for step in range(20):
    x = torch.randn(32, 5)
    y = x[:, :1] * 2 + x[:, 1:2].abs() * torch.randn(32, 1) * 0.1
    h = trunk(x)
    loss_a = nn.functional.mse_loss(mean(h), y)
    loss_b = nn.functional.mse_loss(spread(h), (y - mean(h).detach()) ** 2)
    opt_a.zero_grad()
    loss_a.backward(retain_graph=True)
    opt_a.step()  # BUG inplace-breaks-backward
    opt_b.zero_grad()
    loss_b.backward()  # BUG inplace-breaks-backward
    opt_b.step()
print(loss_a.item(), loss_b.item())
