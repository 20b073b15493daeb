"""The loop that freezes the backbone runs after the new head is in place, and freezes it, too."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 10))
model[2] = nn.Linear(16, 3)
for p in model.parameters():
    p.requires_grad = False  # <- finding
optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
x, y = torch.randn(12, 6), torch.randint(0, 3, (12,))
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
