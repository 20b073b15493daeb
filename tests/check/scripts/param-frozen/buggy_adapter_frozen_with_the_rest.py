"""All is frozen and the head freed again; the adapter is forgotten."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.adapter = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        h = self.body(x)
        return self.head(h + self.adapter(h))


torch.manual_seed(0)
model = Net()
for p in model.parameters():  # <- finding
    p.requires_grad_(False)
for p in model.head.parameters():
    p.requires_grad_(True)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
