import math
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore", category=UserWarning)


class DotAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.scale = 1 / math.sqrt(dim)

    def forward(self, x):
        scores = torch.bmm(self.q(x), self.k(x).transpose(1, 2)) * self.scale
        return torch.bmm(F.softmax(scores, dim=-1), self.v(x))


class Retriever(nn.Module):
    """Key/value pairs followed by a query key; answer with the value."""

    def __init__(self, symbols=6, dim=32):
        super().__init__()
        self.key, self.value = nn.Embedding(symbols, dim), nn.Embedding(symbols + 1, dim)
        self.attend = DotAttention(dim)
        self.out = nn.Linear(dim, symbols)

    def forward(self, keys, values):
        x = self.key(keys) + self.value(values)
        return self.out(self.attend(x)[:, -1])


def episodes(n, symbols=6):
    keys = torch.stack([torch.randperm(symbols)[:4] for _ in range(n)])
    values = torch.randint(0, symbols, (n, 4))
    pick = torch.randint(0, 4, (n,))
    rows = torch.arange(n)
    keys = torch.cat([keys, keys[rows, pick][:, None]], dim=1)
    answer = values[rows, pick]
    return keys, torch.cat([values, torch.full((n, 1), symbols)], dim=1), answer


torch.manual_seed(27)
keys, values, answer = episodes(1600)
val = episodes(300)
model = Retriever()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(1600).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(keys[idx], values[idx]), answer[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = 0
        for idx in torch.arange(300).split(3):
            right += (model(val[0][idx], val[1][idx]).argmax(1) == val[2][idx]).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {right / 300:.3f}")
