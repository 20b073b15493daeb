"""With label smoothing, in a module."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
tags = (x[:, :4] > 0.3).float()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)  # <- finding
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = criterion(model(x[rows]), tags[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
