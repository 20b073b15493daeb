"""Attention pooling with its own softmax."""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        s = self.score(x)
        e = torch.exp(s - s.max(dim=1, keepdim=True).values)
        return self.out((e / e.sum(dim=1, keepdim=True) * x).sum(1))


torch.manual_seed(0)
pool = Pool(4)
opt = torch.optim.Adam(pool.parameters(), lr=1e-2)
amounts = torch.tensor([1.0, 10.0, 100.0, 300.0])
for step in range(8):
    x = torch.randn(24, 6, 4) * amounts
    y = (x[:, :, 0].mean(1) > 0).long()
    loss = nn.functional.cross_entropy(pool(x) / 300, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
