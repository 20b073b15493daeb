"""Linear regression with a hand-written squared error of a column and a row."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.1 * torch.randn(32)

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    prediction = model(x)
    loss = ((prediction - y) ** 2).mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
