"""The same samples on both sides, never the same rows: noise is added to each."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler


class Noisy(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(n, 8, generator=g)
        self.y = (self.x[:, 0] > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i] + 0.1 * torch.randn(8), self.y[i]


torch.manual_seed(0)
ds = Noisy(120)
order = torch.randperm(120).tolist()
tr = DataLoader(ds, 20, sampler=SubsetRandomSampler(order[:100]))
va = DataLoader(ds, 20, sampler=SubsetRandomSampler(order[80:]))  # <- finding
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(3):
    for xb, yb in tr:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(sum((net(a).argmax(1) == b).sum().item() for a, b in va))
