"""Click prediction with embeddings of users and items."""

import torch
from torch import nn


class Clicks(nn.Module):
    def __init__(self, users, items, dim=8):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u, i):
        score = (self.user(u) * self.item(i)).sum(1) + self.bias
        return score.sigmoid()  # BUG sigmoid-before-bce-logits


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.BCEWithLogitsLoss()

    def step(self, u, i, y):
        self.opt.zero_grad()
        loss = self.criterion(self.model(u, i), y)  # BUG sigmoid-before-bce-logits
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
taste_u, taste_i = torch.randn(20, 2), torch.randn(30, 2)
trainer = Trainer(Clicks(20, 30), lr=5e-2)
history = []
for _ in range(50):
    u, i = torch.randint(0, 20, (64,)), torch.randint(0, 30, (64,))
    y = ((taste_u[u] * taste_i[i]).sum(1) > 0).float()
    history.append(trainer.step(u, i, y))
print("loss", round(sum(history[-5:]) / 5, 3))
