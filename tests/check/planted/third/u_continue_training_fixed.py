"""Pretrain on simulated data, then continue from the checkpoint on measured data."""
import io

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR


def build():
    net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1), nn.Flatten(0))
    return net, torch.optim.Adam(net.parameters(), lr=1e-2)


def plant(n, gain, noise):
    x = torch.randn(n, 6)
    y = gain * torch.sin(x[:, 0]) + x[:, 1] - 0.5 * x[:, 2] * x[:, 3]
    return x, y + noise * torch.randn(n)


def fit(net, opt, x, y, steps, scheduler=None):
    for _ in range(steps):
        idx = torch.randint(0, len(x), (64,))
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if scheduler is not None:
            scheduler.step()


@torch.no_grad()
def mse(net, x, y):
    return nn.functional.mse_loss(net(x), y).item()


torch.manual_seed(0)
simulated, measured, test = plant(1000, 1.0, 0.0), plant(300, -1.0, 0.1), plant(200, -1.0, 0.1)

net, opt = build()
fit(net, opt, *simulated, steps=100, scheduler=CosineAnnealingLR(opt, 100, eta_min=1e-8))
checkpoint = io.BytesIO()
torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, checkpoint)
print("simulated mse", mse(net, *simulated), "measured mse", mse(net, *test))

checkpoint.seek(0)
state = torch.load(checkpoint, weights_only=True)
net, opt = build()
net.load_state_dict(state["net"])
opt.load_state_dict(state["opt"])
for group in opt.param_groups:
    group["lr"] = 1e-2
fit(net, opt, *measured, steps=100)
print("measured mse after fine-tuning", mse(net, *test))
