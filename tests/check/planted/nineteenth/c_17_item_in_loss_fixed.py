"""Contrastive sentence encoder with an auxiliary penalty on the norm of embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, ids):
        return self.mlp(self.bag(ids))


def info_nce(a, b, temperature=0.2):
    sim = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T / temperature
    target = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(sim, target) + F.cross_entropy(sim.T, target))


def pairs(n, topics=10):
    topic = torch.randperm(topics)[:n] if n <= topics else torch.randint(0, topics, (n,))
    first = topic[:, None] * 5 + torch.randint(0, 5, (n, 8))
    second = topic[:, None] * 5 + torch.randint(0, 5, (n, 8))
    return first, second


def norm_penalty(*embeddings):
    values = [((e.norm(dim=1) - 1) ** 2).mean() for e in embeddings]
    return sum(values) / len(values)


torch.manual_seed(12)
enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=5e-3)
for step in range(40):
    first, second = pairs(10)
    a, b = enc(first), enc(second)
    penalty = norm_penalty(a, b)
    loss = info_nce(a, b) + 0.1 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, loss.item(), float(penalty))
