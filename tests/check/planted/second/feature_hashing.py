"""Recommender with hashed features (the hashing trick)."""
import random
import zlib
import torch
import torch.nn as nn

BUCKETS = 64


class HashEmbedding(nn.Module):
    def __init__(self, buckets, d):
        super().__init__()
        self.table = nn.EmbeddingBag(buckets, d, mode="sum")
        self.buckets = buckets

    def row(self, key):
        return hash(key) % self.buckets  # BUG nondeterminism

    def forward(self, rows):
        ids = torch.tensor([[self.row(k) for k in keys] for keys in rows])
        return self.table(ids)


random.seed(1)
torch.manual_seed(1)
COUNTRIES = ["fr", "de", "it", "es", "pl"]
DEVICES = ["phone", "tablet", "desktop"]


def events(n):
    rows, ys = [], []
    for _ in range(n):
        c, d = random.choice(COUNTRIES), random.choice(DEVICES)
        h = random.randrange(24)
        rows.append([f"country={c}", f"device={d}", f"hour={h}"])
        ys.append(float((c in ("fr", "it")) != (d == "phone") and h > 6))
    return rows, torch.tensor(ys)


emb = HashEmbedding(BUCKETS, 16)
mlp = nn.Sequential(nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam([*emb.parameters(), *mlp.parameters()], lr=1e-2)
for step in range(200):
    rows, y = events(48)
    loss = nn.functional.binary_cross_entropy_with_logits(mlp(emb(rows)).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
