"""Regression of ratings between zero and one with a Dataset."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ratings(Dataset):
    def __init__(self, users, items, scores):
        self.users = torch.tensor(users)
        self.items = torch.tensor(items)
        self.scores = torch.tensor(scores, dtype=torch.float32)

    def __len__(self):
        return len(self.scores)

    def __getitem__(self, i):
        return self.users[i], self.items[i], self.scores[i]


class MF(nn.Module):
    def __init__(self, n_users, n_items, k=8):
        super().__init__()
        self.u, self.i = nn.Embedding(n_users, k), nn.Embedding(n_items, k)

    def forward(self, u, i):
        return torch.sigmoid((self.u(u) * self.i(i)).sum(1))


g = torch.Generator().manual_seed(23)
users = torch.randint(0, 20, (400,), generator=g).tolist()
items = torch.randint(0, 30, (400,), generator=g).tolist()
scores = [((u * 7 + i * 3) % 10) / 10 + 0.05 for u, i in zip(users, items)]
torch.manual_seed(0)
model = MF(20, 30)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    for u, i, s in DataLoader(Ratings(users, items, scores), batch_size=50, shuffle=True):
        loss = ((model(u, i) - s) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
