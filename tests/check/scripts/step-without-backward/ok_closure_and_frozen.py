"""LBFGS computes gradients in its closure; an optimizer of a backbone that is still frozen steps in vain, as planned."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(30, 4), torch.randn(30, 1)
model = nn.Linear(4, 1)
solver = torch.optim.LBFGS(model.parameters(), max_iter=4)


def closure():
    solver.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(3):
    solver.step(closure)

backbone, head = nn.Linear(4, 8), nn.Linear(8, 1)
slow = torch.optim.SGD(backbone.parameters(), lr=0.001)
fast = torch.optim.SGD(head.parameters(), lr=0.05)
for epoch in range(8):
    backbone.requires_grad_(epoch >= 4)
    slow.zero_grad()
    fast.zero_grad()
    loss = nn.functional.mse_loss(head(torch.relu(backbone(x))), y)
    loss.backward()
    slow.step()
    fast.step()
print(loss.item())
