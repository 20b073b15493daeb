"""A wrong key gives None for a seed."""

import numpy as np
import torch
from torch import nn

cfg = {"seed": 3, "lr": 1e-2}
torch.manual_seed(cfg["seed"])
rng = np.random.default_rng(cfg.get("sed"))  # <- finding
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), cfg["lr"])
for _ in range(10):
    x = torch.from_numpy(rng.normal(size=(8, 4)).astype(np.float32))
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
