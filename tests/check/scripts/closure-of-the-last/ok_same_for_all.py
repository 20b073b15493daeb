"""What the functions read is no variable of the loop."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 2)
shift = x.mean()
steps = []
for _ in range(3):
    steps.append(lambda rows: torch.tanh(rows - shift))
rows = x
for step in steps:
    rows = step(rows)
best = max(range(3), key=lambda k: float(rows[k].sum()))
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(rows), x[:, :1]).backward()
    optimizer.step()
