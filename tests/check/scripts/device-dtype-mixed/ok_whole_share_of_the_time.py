"""A true division; a bucket of positions that is the same in some batches and not in others."""

import torch
from torch import nn

torch.manual_seed(0)
LENGTH = 40


def embed(t):
    share = t / LENGTH
    bucket = t // (LENGTH // 4)
    angles = share[:, None] * (2.0 ** torch.arange(3))[None]
    return torch.cat([angles.sin(), angles.cos(), bucket[:, None] * 0.1], dim=1)


net = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
keep = torch.linspace(0.99, 0.1, LENGTH)
for step in range(12):
    t = torch.randint(0, LENGTH if step % 3 == 0 else LENGTH // 4, (32,))
    noise = torch.randn(32, 2)
    x = keep[t][:, None].sqrt() * torch.randn(32, 2) + (1 - keep[t])[:, None].sqrt() * noise
    loss = nn.functional.mse_loss(net(torch.cat([x, embed(t)], dim=1)), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
