"""The last batch is shorter than the others."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(110, 4)
y = (x[:, 0] > 0).long()
BATCH = 20
train = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=BATCH, shuffle=True)
test = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=BATCH)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for a, b in train:
        opt.zero_grad()
        F.cross_entropy(net(a), b).backward()
        opt.step()
    with torch.no_grad():
        hits = sum((net(a).argmax(1) == b).sum().item() for a, b in test)
    print(epoch, hits / (len(test) * BATCH))  # <- finding
