"""Mini-batches from a shuffled table."""

import torch
from torch import nn


def minibatches(inputs, targets, size):
    inputs = inputs[torch.randperm(len(inputs))]  # BUG loss-at-chance
    targets = targets[torch.randperm(len(targets))]  # BUG loss-at-chance
    for k in range(0, len(inputs), size):
        yield inputs[k : k + size], targets[k : k + size]


torch.manual_seed(31)
X = torch.randn(400, 10)
T = (X @ torch.randn(10, 4)).argmax(1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    for xb, tb in minibatches(X, T, 40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), tb)
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(epoch, loss.item())
