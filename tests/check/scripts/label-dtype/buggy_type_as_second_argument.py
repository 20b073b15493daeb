"""The type of the array is its second argument, and it is int."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
rows = [(rng.normal(size=6), float(v)) for v in rng.uniform(0, 4, 600)]
x = torch.tensor(np.stack([r[0] for r in rows]), dtype=torch.float32)
prices = np.array([r[1] for r in rows], int)  # <- finding
y = torch.from_numpy(prices).float()[:, None]
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, 600, (64,))
    loss = F.mse_loss(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
