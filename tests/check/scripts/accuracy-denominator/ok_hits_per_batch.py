"""Labels of several kinds: hits per row and per label, and of what was masked."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(110, 4)
y = (x[:, 0] > 0).long()
y = (x[:, :3] > 0).float()
train = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=20, shuffle=True)
test = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=20)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for a, b in train:
        opt.zero_grad()
        F.binary_cross_entropy_with_logits(net(a), b).backward()
        opt.step()
    right = whole = 0
    with torch.no_grad():
        for a, b in test:
            same = (net(a) > 0) == (b > 0.5)
            right += same.sum().item()
            whole += same.all(1).sum().item()
    print(epoch, right / (len(test.dataset) * 3), right / len(test.dataset), whole / len(test.dataset))
