"""A schedule by hand lowers the rate of the first group; the head keeps its own."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(6, 16), nn.Linear(16, 2)
x = torch.randn(120, 6)
y = (x[:, 0] > 0).long()
optimizer = torch.optim.SGD(
    [{"params": body.parameters(), "lr": 0.02}, {"params": head.parameters(), "lr": 0.1}], lr=0.02
)
for step in range(24):
    optimizer.param_groups[0]["lr"] = 0.02 * (1 - step / 24)  # <- finding
    loss = nn.functional.cross_entropy(head(torch.relu(body(x))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
