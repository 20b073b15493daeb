"""Hidden activity is read as an array and standardised in place: the array is the tensor's own memory."""

import torch
from torch import nn


def describe(activity):
    activity -= activity.mean(axis=0)  # <- finding
    activity /= activity.std(axis=0) + 1e-6  # <- finding
    return float((activity**4).mean())


torch.manual_seed(0)
x = torch.randn(64, 5)
y = x[:, :1].sin()
first, last = nn.Linear(5, 16), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
for _ in range(6):
    hidden = torch.sigmoid(first(x))
    loss = nn.functional.mse_loss(last(hidden), y)
    kurtosis = describe(hidden.detach().numpy())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(kurtosis)
