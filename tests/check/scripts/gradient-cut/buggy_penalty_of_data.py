"""A penalty on weights is computed from `.data`: it changes the loss and no gradient."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 12)
y = x[:, :1] - x[:, 1:2]
net = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def smoothness(model):
    total = 0.0
    for p in model.parameters():
        if p.ndim > 1:
            total = total + p.detach().pow(2).sum()  # <- finding
    return total


for step in range(12):
    loss = nn.functional.mse_loss(net(x), y) + 1e-2 * smoothness(net)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
