import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(50)


class SelfAttentionPool(nn.Module):
    """A learned query pools the tokens."""

    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(dim) * 0.02)
        self.key = nn.Linear(dim, dim, bias=False)
        self.key.weight.requires_grad_(False)

    def forward(self, x):
        w = F.softmax(self.key(x) @ self.query, dim=1)
        return (w.unsqueeze(-1) * x).sum(1)


class Model(nn.Module):
    def __init__(self, vocab=20, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.pool = SelfAttentionPool(dim)
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        return self.head(self.pool(self.emb(x)))


def batch(n=64):
    x = torch.randint(10, 20, (n, 12))
    y = torch.randint(0, 10, (n,))
    x[torch.arange(n), torch.randint(0, 12, (n,))] = y
    return x, y


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(100):
    x, y = batch()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 24:
        print(step, loss.item())
