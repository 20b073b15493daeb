import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
visits = rng.poisson(2.0, 200)
y = torch.from_numpy(np.clip(visits, 0, 4))  # class 4: four or more
x = torch.tensor(np.stack([visits / 5, rng.normal(size=200)], 1), dtype=torch.float32)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
