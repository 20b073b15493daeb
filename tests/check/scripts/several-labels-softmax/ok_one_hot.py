"""One class in each row."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
tags = nn.functional.one_hot(x[:, :4].argmax(1), 4).float()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = nn.functional.cross_entropy(model(x[rows]), tags[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
