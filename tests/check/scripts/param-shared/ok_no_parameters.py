"""One activation and one dropout at several places, real copies, a default that is a class."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
act, drop = nn.ReLU(), nn.Dropout(0.1)
block = nn.Linear(8, 8)
model = nn.Sequential(nn.Linear(4, 8), act, drop, copy.deepcopy(block), act, drop, copy.deepcopy(block), act, nn.Linear(8, 1))
more = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])


class Norms(nn.Module):
    def __init__(self, norm=nn.LayerNorm, act=nn.GELU()):
        super().__init__()
        self.first, self.second, self.act = norm(1), norm(1), act

    def forward(self, x):
        return self.act(self.first(x)) + self.second(x)


norms = nn.ModuleList([Norms(), Norms()])
optimizer = torch.optim.SGD([*model.parameters(), *more.parameters(), *norms.parameters()], lr=0.05)
for _ in range(3):
    x = model(torch.randn(8, 4))
    for layer in (*more, *norms):
        x = x + layer(x)
    optimizer.zero_grad()
    loss = (x - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
