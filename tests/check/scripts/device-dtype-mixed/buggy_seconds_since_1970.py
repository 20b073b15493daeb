import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
stamps = 1_700_000_000 + np.cumsum(rng.uniform(1, 9, (80, 10)), axis=1)
x = torch.from_numpy(stamps.astype(np.float32)).diff(dim=1) / 5  # <- finding
y = (torch.rand(80) < 0.5).long()
net = nn.Linear(9, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(5):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
