"""The rate stands in a dictionary of settings, and is that of another kind of training."""

import torch
from torch import nn

BASE = {"opt": "adam", "lr": 2e-6, "wd": 0.0}  # <- finding


def build(params, **kw):
    cfg = {**BASE, **kw}
    kind = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD}[cfg.pop("opt")]
    cfg["weight_decay"] = cfg.pop("wd")
    return kind(params, **cfg)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = build(net.parameters())
for _ in range(100):
    x = torch.randn(32, 5)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
