"""A denoising diffusion model: noise at random times, an evaluation with fixed noise, an average of weights."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32, 2))
ema = copy.deepcopy(net).eval().requires_grad_(False)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 50), dim=0)
data = torch.randn(64, 2) * 0.3 + 1
fixed_noise = torch.randn(16, 2)
for step in range(12):
    t = torch.randint(0, 50, (32,))
    x0 = data[torch.randperm(64)[:32]]
    noise = torch.randn_like(x0)
    xt = alphas[t].sqrt().unsqueeze(1) * x0 + (1 - alphas[t]).sqrt().unsqueeze(1) * noise
    loss = nn.functional.mse_loss(net(torch.cat([xt, t.unsqueeze(1) / 50], dim=1)), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 0.1)
    if step % 6 == 5:
        with torch.no_grad():
            x = fixed_noise
            for k in (49, 25, 0):
                x = x - 0.1 * ema(torch.cat([x, torch.full((16, 1), k / 50)], dim=1))
        print(step, loss.item(), x.mean().item())
