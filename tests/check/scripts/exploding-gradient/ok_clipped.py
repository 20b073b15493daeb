"""A recurrence that grows, with gradients clipped as one does."""

import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.RNNCell(1, 8, nonlinearity="relu"), nn.Linear(8, 1)
with torch.no_grad():
    cell.weight_hh.copy_(1.9 * torch.eye(8))
parameters = [*cell.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.01)
x = torch.rand(8, 20, 1)
y = x.mean(dim=1)
for step in range(4):
    h = torch.zeros(8, 8)
    for t in range(20):
        h = cell(x[:, t], h)
    loss = nn.functional.smooth_l1_loss(head(h), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    print(step, loss.item())
