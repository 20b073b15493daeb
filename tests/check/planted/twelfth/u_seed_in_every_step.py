"""Denoising: a helper seeds so that runs can be repeated."""

import torch
from torch import nn


def set_seed(seed=59):
    torch.manual_seed(seed)


def corrupt(x, sigma=0.4):
    set_seed()  # BUG same-mask
    return x + sigma * torch.randn_like(x)


set_seed()
clean = torch.sin(torch.linspace(0, 6.28, 24) + torch.rand(128, 1) * 6.28)
net = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 24))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(20):
    for batch in clean.split(32):
        loss = nn.functional.mse_loss(net(corrupt(batch)), batch)  # BUG same-mask
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
