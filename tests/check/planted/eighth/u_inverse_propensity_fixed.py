# Recommendations from logged clicks, weighted by inverse propensity
import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self, users=50, items=40, d=8):
        super().__init__()
        self.user = nn.Embedding(users, d)
        self.item = nn.Embedding(items, d)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1)


torch.manual_seed(0)
U, I = torch.randint(0, 50, (2000,)), torch.randint(0, 40, (2000,))
clicked = (U % 3 == I % 3).float()
propensity = (0.2 + 0.8 * torch.rand(2000))
model = TwoTower()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(5):
    for rows in torch.randperm(2000).split(100):
        per_click = nn.functional.binary_cross_entropy_with_logits(model(U[rows], I[rows]), clicked[rows], reduction="none")
        loss = (per_click / propensity[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
