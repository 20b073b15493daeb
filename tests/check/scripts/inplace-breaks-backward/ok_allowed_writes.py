"""Writes that harm nothing: ReLU in place, additions to what nobody has kept, buffers, masks, dropout in place."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.act = nn.ReLU(inplace=True)
        self.out = nn.Linear(8, 2)
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        h = self.act(self.norm(self.first(x)))
        with torch.no_grad():
            self.mean.mul_(0.9).add_(0.1 * h.mean(0))
        y = self.out(h)
        y += 1
        y[:, 0] = 0.0
        return y


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(loss.item())
