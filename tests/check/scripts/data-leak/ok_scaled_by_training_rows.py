"""Statistics of the training rows scale all."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def standardise(a):
    return (a - a.mean(0)) / a.std(0)


rng = np.random.default_rng(0)
raw = rng.gamma(2.0, 3.0, size=(200, 6))
y = (raw[:, 0] > 5).astype(np.int64)
x = ((raw - raw[:150].mean(0)) / raw[:150].std(0)).astype(np.float32)
ds = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
torch.manual_seed(0)
tr, te = torch.utils.data.Subset(ds, range(150)), torch.utils.data.Subset(ds, range(150, 200))
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(3):
    for xb, yb in DataLoader(tr, 25, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print(sum((net(a).argmax(1) == b).sum().item() for a, b in DataLoader(te, 25)))
