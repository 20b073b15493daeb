"""Matrix factorisation with biases on synthetic ratings."""
import torch
from torch import nn

USERS, ITEMS, K = 60, 40, 6


class MF(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.u = nn.Embedding(USERS, K)
        self.i = nn.Embedding(ITEMS, K)
        self.bu = nn.Embedding(USERS, 1)
        self.bi = nn.Embedding(ITEMS, 1)
        self.register_buffer("mean", mean)
        for e in (self.u, self.i):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bi):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        dot = (self.u(u) * self.i(i)).sum(-1)
        return dot + self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1) + self.mean


def ratings(n):
    pu, qi = torch.randn(USERS, 3), torch.randn(ITEMS, 3)
    u, i = torch.randint(0, USERS, (n,)), torch.randint(0, ITEMS, (n,))
    r = (3 + (pu[u] * qi[i]).sum(-1) + 0.2 * torch.randn(n)).clamp(1, 5)
    return u, i, r


def train_one_epoch(model, data, optimizer, batch=100):
    u, i, r = data
    running = 0
    batches = 0
    for idx in torch.randperm(len(u)).split(batch):
        optimizer.zero_grad()
        loss = ((model(u[idx], i[idx]) - r[idx]) ** 2).mean()
        loss.backward()
        optimizer.step()
        running += loss.item()
        batches += 1
    return running / batches


torch.manual_seed(0)
data = ratings(1500)
model = MF(data[2].mean())
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=1e-5)
for epoch in range(5):
    mse = train_one_epoch(model, data, optimizer)
    print(f"epoch {epoch}: rmse {float(mse) ** 0.5:.3f}")
