"""A linear recurrence whose matrix is larger than one, over forty steps, without clipping."""

import torch
from torch import nn


class Recurrence(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.inp = nn.Linear(1, width)
        self.state = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, 1)
        nn.init.orthogonal_(self.state.weight, gain=1.6)  # <- finding

    def forward(self, x):
        h = torch.zeros(len(x), self.width)
        for t in range(x.shape[1]):
            h = self.inp(x[:, t]) + self.state(h)
        return self.out(h)


torch.manual_seed(0)
model = Recurrence(8)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
x = torch.randn(8, 40, 1)
y = x.sum(dim=1)
for step in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
