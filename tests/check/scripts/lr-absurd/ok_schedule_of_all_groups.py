"""A schedule by hand lowers the rates of both groups."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(6, 16), nn.Linear(16, 2)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long()
optimizer = torch.optim.SGD(
    [{"params": body.parameters(), "lr": 0.02}, {"params": head.parameters(), "lr": 0.1}], lr=0.02
)
rates = [group["lr"] for group in optimizer.param_groups]
for step in range(24):
    optimizer.param_groups[0]["lr"] = rates[0] * (1 - step / 24)
    optimizer.param_groups[1]["lr"] = rates[1] * (1 - step / 24)
    loss = nn.functional.cross_entropy(head(torch.relu(body(x))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
