"""A stream of NumPy's begins anew in each call."""

import numpy as np
import torch
from torch import nn


def jitter(x, seed=3):
    rng = np.random.default_rng(seed)  # <- finding
    return x + torch.from_numpy(rng.normal(0, 0.3, size=x.shape).astype(np.float32))


torch.manual_seed(0)
net = nn.Linear(6, 1)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(40):
    x = torch.randn(32, 6)
    loss = (net(jitter(x)) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
