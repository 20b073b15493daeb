"""Rare rows are repeated by NumPy before the split."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(400, 8)).astype("float32")
y = (x[:, 0] > 1.2).astype("int64")


def balance(x, y):
    pos = np.flatnonzero(y == 1)
    more = rng.choice(pos, size=len(y) - 2 * len(pos))
    return np.concatenate([x, x[more]]), np.concatenate([y, y[more]])


x, y = balance(x, y)  # <- finding
order = rng.permutation(len(x))
cut = int(0.8 * len(x))
x, y = torch.from_numpy(x[order]), torch.from_numpy(y[order])
train_x, train_y, test_x, test_y = x[:cut], y[:cut], x[cut:], y[cut:]
net = nn.Linear(8, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, len(train_x), (32,))
    loss = F.cross_entropy(net(train_x[i]), train_y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print("test", (net(test_x).argmax(1) == test_y).float().mean().item())
