"""Binary cross entropy refuses what mean squared error broadcasts; the exception ends the script."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(16, 4), (torch.rand(16) > 0.5).float()
model = nn.Linear(4, 1)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    logits = model(x)
    loss = criterion(logits, y)  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
