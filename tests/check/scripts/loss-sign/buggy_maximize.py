"""An optimizer with maximize=True gets an ordinary loss."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, maximize=True)  # <- finding
for step in range(6):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
