"""A sigmoid written out, clamped, for a multi-label model."""

import torch
from torch import nn


def predict(layer, x):
    scores = layer(x)
    probs = 1 / (1 + torch.exp(-scores))  # <- finding
    return probs.clamp(1e-6, 1 - 1e-6)


torch.manual_seed(0)
layer = nn.Linear(8, 5)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
loss_fn = nn.BCEWithLogitsLoss(reduction="sum")
x, tags = torch.randn(20, 8), torch.randint(0, 2, (20, 5)).float()
for epoch in range(4):
    optimizer.zero_grad()
    loss = loss_fn(predict(layer, x), tags) / len(x)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
