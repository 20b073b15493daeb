"""The difference of two images of bytes begins again at 255."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
a = rng.integers(0, 256, (256, 16), dtype=np.uint8)
b = rng.integers(0, 256, (256, 16), dtype=np.uint8)
d = a - b  # <- finding
x = torch.from_numpy(d.astype("float32") / 255)
y = torch.from_numpy((a.astype(int).mean(1) > b.mean(1)).astype("int64"))
net = nn.Linear(16, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(20):
    i = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
