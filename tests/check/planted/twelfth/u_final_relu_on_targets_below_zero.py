"""Returns of a stock can be negative."""

import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]  # BUG dead-units|loss-at-chance
        self.net = nn.Sequential(*layers)  # BUG dead-units|loss-at-chance

    def forward(self, x):
        return self.net(x)


torch.manual_seed(67)
model = MLP([6, 32, 32, 1])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
w = torch.randn(6, 1) * 0.3
for step in range(80):
    x = torch.randn(64, 6)
    y = x @ w - 1.5
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item())
