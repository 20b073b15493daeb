"""Parts that are used by turns: heads of tasks, layers that are dropped at random, experts that are not chosen."""

import torch
from torch import nn


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(4, 8)
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 1), "b": nn.Linear(8, 2), "c": nn.Linear(8, 3)})
        self.deep = nn.ModuleList([nn.Linear(8, 8) for _ in range(6)])

    def forward(self, x, task):
        x = torch.relu(self.trunk(x))
        for layer in self.deep:
            if torch.rand(()) > 0.7:
                x = x + layer(x)
        return self.heads[task](x)


torch.manual_seed(0)
model = Multi()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4), "ab"[step % 2]).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
