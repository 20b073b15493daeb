"""Attention weights are a softmax too, but the class scores are no probabilities."""

import torch
import torch.nn.functional as F
from torch import nn


class Pooled(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.score = nn.Linear(width, 1)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        weights = torch.softmax(self.score(x).squeeze(-1), dim=1)
        return self.out((weights.unsqueeze(-1) * x).sum(dim=1))


torch.manual_seed(0)
model = Pooled(6, 5)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(16, 5, 6), torch.randint(0, 5, (16,))
for _ in range(5):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
