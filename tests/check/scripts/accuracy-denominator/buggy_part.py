"""A sampler chooses a part of the data set, and all of it is counted."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)
x = torch.randn(110, 4)
y = (x[:, 0] > 0).long()
data = TensorDataset(x, y)
train = DataLoader(data, batch_size=20, sampler=SubsetRandomSampler(range(80)))
test = DataLoader(data, batch_size=15, sampler=SubsetRandomSampler(range(80, 110)))
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(2):
    for a, b in train:
        opt.zero_grad()
        F.cross_entropy(net(a), b).backward()
        opt.step()
    right = 0
    with torch.no_grad():
        for a, b in test:
            right += torch.sum(net(a).argmax(1) == b).item()
    print(f"{epoch}: {right / len(test.dataset):.3f}")  # <- finding
