"""`[layer] * 3` is three times the same layer."""

import torch
from torch import nn


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.ReLU())] * 3)  # <- finding
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for block in self.blocks:
            x = block(x)
        return self.out(x)


torch.manual_seed(0)
model = Deep()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
