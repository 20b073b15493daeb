"""Attention pooling over padded sets; some sets are empty."""
import torch
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) * 0.1)
        self.value = nn.Linear(dim, dim)

    def forward(self, x, mask):
        score = x @ self.query
        score = score.masked_fill(~mask, float("-inf"))
        weight = score.softmax(dim=1).nan_to_num(0.0)
        return torch.einsum("bn,bnd->bd", weight, self.value(x))


class SetModel(nn.Module):
    def __init__(self, n_in=3, dim=16):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU())
        self.pool = AttentionPool(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, x, mask):
        pooled = self.pool(self.embed(x), mask)
        return self.head(pooled).squeeze(1), pooled


def baskets(n, most=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    count = torch.randint(0, most + 1, (n,), generator=g)
    x = torch.randn(n, most, 3, generator=g)
    mask = torch.arange(most)[None] < count[:, None]
    total = (x[..., 0] * mask).sum(1)
    return x, mask, total


torch.manual_seed(0)
x, mask, y = baskets(128)
model = SetModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for rows in torch.arange(128).split(32):
        predicted, pooled = model(x[rows], mask[rows])
        loss = (predicted - y[rows]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
