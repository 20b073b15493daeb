"""Features of a backbone under no_grad, which the optimizer does not have; numbers that weigh a loss."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
head = nn.Linear(12, 3)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
difficulty = 1.0
for _ in range(6):
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    with torch.no_grad():
        features = backbone(x)
    weight = torch.tensor(1.0 / difficulty)
    loss = weight * nn.functional.cross_entropy(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    difficulty = max(loss.item(), 0.1)
print(loss.item())
