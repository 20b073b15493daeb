import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(1, 2) / math.sqrt(x.shape[-1])
        weights = F.softmax(scores, dim=-1)
        return weights @ v


class Model(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attn = SelfAttention(dim)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        x = self.embed(ids)
        x = self.norm(x + self.attn(x))
        return self.head(x[:, 0])


def lookup_task(n, length=8):
    """Position 0 holds a key; the answer is the value glued to that key later on."""
    keys = torch.stack([torch.randperm(8)[:length - 1] for _ in range(n)])
    values = torch.randint(0, 4, (n, length - 1))
    target = torch.randint(0, length - 1, (n,))
    rows = torch.arange(n)
    first = 32 + keys[rows, target]
    return torch.cat([first[:, None], keys * 4 + values], 1), values[rows, target]


model = Model(vocab=40, dim=32, classes=4)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x, y = lookup_task(2000)
x_test, y_test = lookup_task(300)

for step in range(200):
    idx = torch.randint(0, len(x), (128,))
    loss = F.cross_entropy(model(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            acc = (model(x_test).argmax(-1) == y_test).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} test acc {acc:.3f}")
