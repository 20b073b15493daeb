"""Retrieval of items for users: a shared tower and a separate scoring head."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, ids, dim=16):
        super().__init__()
        self.table = nn.Embedding(ids, dim)
        self.dense = nn.Linear(dim, dim)

    def forward(self, idx):
        return torch.tanh(self.dense(self.table(idx)))


def interactions(n, users, items):
    u = torch.randint(0, len(users), (n,))
    i = torch.randint(0, len(items), (n,))
    affinity = (users[u] * items[i]).sum(1)
    return u, i, (affinity + 0.2 * torch.randn(n) > 0).float()


torch.manual_seed(0)
users, items = torch.randn(40, 3), torch.randn(60, 3)
u, i, clicked = interactions(2400, users, items)

user_tower, item_tower = Tower(40), Tower(60)
model = nn.ModuleList([user_tower, item_tower])
head = nn.Bilinear(16, 16, 1)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.3, momentum=0.9)
loss_fn = nn.BCEWithLogitsLoss()

for step in range(200):
    rows = torch.randint(0, 2000, (100,))
    score = head(user_tower(u[rows]), item_tower(i[rows])).squeeze(1)
    loss = loss_fn(score, clicked[rows])
    model.zero_grad()  # <- finding
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        with torch.no_grad():
            held = head(user_tower(u[2000:]), item_tower(i[2000:])).squeeze(1)
            acc = ((held > 0).float() == clicked[2000:]).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} held-out accuracy {acc:.3f}")
