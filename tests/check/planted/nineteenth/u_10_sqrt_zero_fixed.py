"""Batch-hard triplet loss with a pairwise distance matrix by hand."""
import torch
from torch import nn


def pairwise(e):
    sq = (e * e).sum(1)
    d2 = sq[:, None] + sq[None, :] - 2 * e @ e.T
    return (d2.clamp(min=0) + 1e-6).sqrt()


def batch_hard(e, y, margin=0.3):
    dist = pairwise(e)
    same = y[:, None] == y[None, :]
    hardest_pos = (dist * same).max(1).values
    hardest_neg = (dist + 1e3 * same).min(1).values
    return torch.relu(hardest_pos - hardest_neg + margin).mean() + 1e-3 * dist.mean()


class PKSampler:
    """P classes and K rows of each."""

    def __init__(self, y, p, k):
        self.y, self.p, self.k = y, p, k

    def __iter__(self):
        for _ in range(10):
            classes = torch.randperm(int(self.y.max()) + 1)[:self.p]
            yield torch.cat([(self.y == c).nonzero()[:, 0][torch.randperm(int((self.y == c).sum()))[:self.k]] for c in classes])


torch.manual_seed(0)
y = torch.arange(240) % 8
centers = torch.randn(8, 12)
x = centers[y] + 0.6 * torch.randn(240, 12)
enc = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(enc.parameters(), lr=3e-3)
for epoch in range(4):
    for idx in PKSampler(y, 4, 8):
        loss = batch_hard(enc(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
