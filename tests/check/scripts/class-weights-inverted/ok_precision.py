"""A small `pos_weight` for precision that has nothing to do with the counts."""

import torch
from torch import nn

torch.manual_seed(0)
y = (torch.rand(200) < 0.1).float()
x = torch.randn(200, 4) + y[:, None]
model = nn.Linear(4, 1)
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(0.7))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    loss = criterion(model(x).squeeze(1), y)
    loss.backward()
    optimizer.step()
print(loss.item())
