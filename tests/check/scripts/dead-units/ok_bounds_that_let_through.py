"""Bounds as they should be: a log-variance within limits, a threshold at zero, actions cut at both ends, a narrow layer that has learned."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(8, 32), nn.Threshold(0.1, 0.0))
        self.mean = nn.Linear(32, 1)
        self.log_var = nn.Linear(32, 1)

    def forward(self, x):
        h = self.a(x)
        return self.mean(h).clamp(-3, 3).squeeze(1), self.log_var(h).clamp(min=-6, max=4).squeeze(1)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(200, 8)
y = x[:, 0].clamp(-2, 2) + 0.1 * torch.randn(200)
for epoch in range(8):
    for rows in torch.arange(200).split(40):
        mean, log_var = net(x[rows])
        loss = nn.functional.gaussian_nll_loss(mean, y[rows], log_var.exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
