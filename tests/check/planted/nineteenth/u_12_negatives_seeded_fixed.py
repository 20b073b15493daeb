"""Implicit feedback: BPR with sampled negatives."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

N_USERS, N_ITEMS = 50, 80


class BPR(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.users = nn.Embedding(N_USERS, dim)
        self.items = nn.Embedding(N_ITEMS, dim)
        nn.init.normal_(self.users.weight, std=0.1)
        nn.init.normal_(self.items.weight, std=0.1)

    def score(self, u, i):
        return (self.users(u) * self.items(i)).sum(-1)


def interactions(rng):
    taste = rng.integers(0, 4, N_USERS)
    rows = []
    for u in range(N_USERS):
        liked = rng.choice(np.arange(taste[u], N_ITEMS, 4), 10, replace=False)
        rows += [(u, i) for i in liked]
    return np.array(rows)


def sample_negatives(positives, count, seed=42):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(0, N_ITEMS, count))


def train(epochs=6, batch=50):
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    pos = torch.from_numpy(interactions(rng))
    model = BPR()
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(epochs):
        total = 0.0
        order = torch.randperm(len(pos))
        for step, idx in enumerate(order.split(batch)):
            u, i = pos[idx].T
            j = sample_negatives(pos, len(idx))
            j = sample_negatives(pos, len(idx), seed=epoch * 1000 + step)
            loss = -F.logsigmoid(model.score(u, i) - model.score(u, j)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total / (step + 1))


train()
