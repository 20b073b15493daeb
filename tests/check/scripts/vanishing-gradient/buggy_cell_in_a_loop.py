"""A cell written by hand, with a recurrent matrix that halves everything, must remember the first of twenty-four inputs."""

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.width = width
        self.enter = nn.Linear(3, width)
        self.keep = nn.Linear(width, width, bias=False)
        self.answer = nn.Linear(width, 2)
        nn.init.orthogonal_(self.keep.weight, gain=0.4)  # <- finding

    def forward(self, x):
        h = torch.zeros(len(x), self.width)
        for t in range(x.shape[1]):
            h = torch.tanh(self.enter(x[:, t]) + self.keep(h))
        return self.answer(h)


torch.manual_seed(0)
model = Memory()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(16, 24, 3)
y = (x[:, 0, 0] > 0).long()
for step in range(6):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
