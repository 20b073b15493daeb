"""Training and test rows are drawn one after the other."""

import numpy as np
import torch
from torch import nn


class MatrixFactorization(nn.Module):
    def __init__(self, users, items, rank=8):
        super().__init__()
        self.user = nn.Embedding(users, rank)
        self.item = nn.Embedding(items, rank)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1)


def load_ratings(seed=0, n=2000):
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    u, i = rng.integers(0, 60, n), rng.integers(0, 40, n)
    r = (p[u] * q[i]).sum(1) + 0.1 * rng.normal(size=n)
    return np.stack([u, i], 1), r.astype(np.float32)


def split(pairs, ratings, frac=0.2, seed=1):
    rng = np.random.default_rng(seed)
    n = len(ratings)
    test = rng.choice(n, int(n * frac), replace=False)
    train = np.setdiff1d(np.arange(n), test)
    return (pairs[train], ratings[train]), (pairs[test], ratings[test])


def main():
    torch.manual_seed(0)
    (xtr, ytr), (xte, yte) = split(*load_ratings())
    xtr, xte = torch.from_numpy(xtr), torch.from_numpy(xte)
    ytr, yte = torch.from_numpy(ytr), torch.from_numpy(yte)
    model = MatrixFactorization(60, 40)
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(2):
        for idx in torch.randperm(len(ytr)).split(100):
            loss = nn.functional.mse_loss(model(xtr[idx, 0], xtr[idx, 1]), ytr[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            rmse = nn.functional.mse_loss(model(xte[:, 0], xte[:, 1]), yte).sqrt()
        print(epoch, f"rmse {rmse:.3f}")


main()
