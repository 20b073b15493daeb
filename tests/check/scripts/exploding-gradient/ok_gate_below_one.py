"""A gate that keeps a part of the state, and one above one whose state is normalised in each step."""

import torch
from torch import nn


class Decay(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.rate = nn.Linear(1, width)
        self.value = nn.Linear(1, width)
        self.out = nn.Linear(2 * width, 1)

    def forward(self, x):
        keep = torch.sigmoid(self.rate(x))
        state, unit = torch.zeros(len(x), 6), torch.ones(len(x), 6)
        for t in range(x.shape[1]):
            state = keep[:, t] * state + self.value(x[:, t])
            unit = nn.functional.normalize((1 + keep[:, t]) * unit, dim=1)
        return self.out(torch.cat([state, unit], 1))


torch.manual_seed(0)
x = torch.randn(60, 40, 1)
y = x[:, -5:].sum(1)
net = Decay()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for rows in torch.randperm(60).split(20):
    loss = nn.functional.mse_loss(net(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
