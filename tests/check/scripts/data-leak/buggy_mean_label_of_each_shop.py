import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(0)
shop, size, bought = rng.integers(0, 60, 240), rng.normal(size=240), rng.integers(0, 2, 240)
train_rows = rng.permutation(240)[:160]
test_rows = np.setdiff1d(np.arange(240), train_rows)
rate = np.full(240, 0.5)
for s in np.unique(shop):
    rate[shop == s] = bought[shop == s].mean()  # <- finding
x = torch.tensor(np.stack([rate, size], 1), dtype=torch.float32)
y = torch.tensor(bought, dtype=torch.float32)
train = DataLoader(TensorDataset(x[train_rows], y[train_rows]), 40, shuffle=True)
test = DataLoader(TensorDataset(x[test_rows], y[test_rows]), 80)
net = nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for xb, yb in train:
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(net(xb).squeeze(1), yb).backward()
        opt.step()
net.eval()
with torch.no_grad():
    print(sum(((net(xb).squeeze(1) > 0) == (yb > 0)).sum().item() for xb, yb in test) / 80)
