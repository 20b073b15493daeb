"""Two towers for queries and documents with in-batch negatives."""

import copy

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, dim))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = Tower()
        self.document = copy.copy(self.query)  # BUG param-shared
        self.temperature = nn.Parameter(torch.tensor(2.0))

    def forward(self, q, d):
        return self.query(q) @ self.document(d).T * self.temperature.exp()


torch.manual_seed(0)
model = TwoTower()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
turn = torch.linalg.qr(torch.randn(10, 10)).Q
for step in range(25):
    q = torch.randn(32, 10)
    scores = model(q, q @ turn)
    target = torch.arange(32)
    loss = nn.functional.cross_entropy(scores, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
same = model.query.net[0].weight is model.document.net[0].weight
print("loss", round(loss.item(), 3), "one tower", same)
