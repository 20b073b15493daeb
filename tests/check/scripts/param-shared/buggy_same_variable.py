"""One layer is put into a Sequential three times."""

import torch
from torch import nn

torch.manual_seed(0)
hidden = nn.Linear(8, 8)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), hidden, nn.ReLU(), hidden, nn.ReLU(), nn.Linear(8, 2))  # <- finding
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
