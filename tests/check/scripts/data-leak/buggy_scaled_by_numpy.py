"""NumPy scales all rows in a function, and only then they are split."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def standardise(a):
    return (a - a.mean(0)) / a.std(0)


rng = np.random.default_rng(0)
raw = rng.gamma(2.0, 3.0, size=(200, 6))
y = (raw[:, 0] > 5).astype(np.int64)
x = standardise(raw).astype(np.float32)  # <- finding
ds = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
torch.manual_seed(0)
tr, te = random_split(ds, [150, 50])
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
