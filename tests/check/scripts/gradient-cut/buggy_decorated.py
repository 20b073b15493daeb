"""A decorator that was made for inference stands over a method that training uses, too."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 1)

    @torch.no_grad()  # <- finding
    def encode(self, x):
        return self.body(x)

    def forward(self, x):
        return self.head(self.encode(x))


torch.manual_seed(0)
model = Tower()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
