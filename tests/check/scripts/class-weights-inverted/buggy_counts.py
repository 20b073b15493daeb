"""Class weights are the shares of the classes."""

import torch
from torch import nn

torch.manual_seed(0)
y = torch.multinomial(torch.tensor([0.75, 0.2, 0.05]), 200, replacement=True)
x = torch.randn(200, 4) + y[:, None]
weights = torch.bincount(y).float() / len(y)  # <- finding
criterion = nn.CrossEntropyLoss(weight=weights)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
