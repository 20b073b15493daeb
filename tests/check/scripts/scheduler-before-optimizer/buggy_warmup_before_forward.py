"""A linear warm-up that is stepped before anything else in the step."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min(1.0, (step + 1) / 4))


def step(x, y):
    warmup.step()  # <- finding
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
    return loss.item()


print([step(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(5)])
