"""The rows are counted as they come, or are those of the data set."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(110, 4)
y = (x[:, 0] > 0).long()
train = DataLoader(TensorDataset(x[:80], y[:80]), batch_size=20, shuffle=True)
test = DataLoader(TensorDataset(x[80:], y[80:]), batch_size=20)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for a, b in train:
        opt.zero_grad()
        F.cross_entropy(net(a), b).backward()
        opt.step()
    right = rows = 0
    with torch.no_grad():
        for a, b in test:
            right += (net(a).argmax(1) == b).sum().item()
            rows += len(b)
    print(epoch, right / rows, right / len(test.dataset))
