"""Each row has a weight, and the error is a mean already."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 3)
target = x @ torch.tensor([[1.0], [-2.0], [0.5]])
weights = torch.rand(40, 1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    error = (model(x) - target).pow(2).mean()  # <- finding
    loss = (weights * error).mean()
    loss.backward()
    optimizer.step()
print(loss.item())
