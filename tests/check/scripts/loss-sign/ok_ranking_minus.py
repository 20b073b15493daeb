"""Implicit feedback with a pairwise ranking loss."""
import torch
import torch.nn.functional as F
from torch import nn


class Scorer(nn.Module):
    def __init__(self, users=40, items=60, k=8):
        super().__init__()
        self.u, self.i = nn.Embedding(users, k), nn.Embedding(items, k)
        nn.init.normal_(self.u.weight, std=0.1)
        nn.init.normal_(self.i.weight, std=0.1)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(-1)


def bpr(pos, neg):
    return -F.logsigmoid(pos - neg).mean()


def hit_rate(model, users, items, k=10):
    with torch.no_grad():
        scores = model.u.weight @ model.i.weight.T
    top = scores.topk(k, dim=1).indices[users]
    return (top == items.unsqueeze(1)).any(1).float().mean().item()


def interactions(n):
    users = torch.randint(0, 40, (n,))
    items = (users % 6) * 10 + torch.randint(0, 10, (n,))
    return users, items


torch.manual_seed(142)
users, items = interactions(1500)
test_users, test_items = interactions(300)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(1):
    for rows in torch.randperm(1500).split(100):
        negatives = torch.randint(0, 60, (len(rows),))
        loss = bpr(model(users[rows], items[rows]), model(users[rows], negatives))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), hit_rate(model, test_users, test_items))
