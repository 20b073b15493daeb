"""Weights in the order of the counts, for a loss on log-probabilities of batches."""

import torch
from torch import nn

torch.manual_seed(0)
y = (torch.rand(240) < 0.25).long()
x = torch.randn(240, 4) + y[:, None]
model = nn.Sequential(nn.Linear(4, 2), nn.LogSoftmax(dim=1))
class_weights = torch.tensor([3.0, 1.0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in torch.randperm(240).split(40):
    optimizer.zero_grad()
    loss = nn.functional.nll_loss(model(x[rows]), y[rows], weight=class_weights)  # <- finding
    loss.backward()
    optimizer.step()
print(loss.item())
