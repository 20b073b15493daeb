"""One of two optimizers gets a gradient in every third step only, and steps in all of them: its momentum goes on with zeros."""

import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 3), nn.Linear(3, 1)
optimizer, slow = torch.optim.Adam(body.parameters(), lr=0.01), torch.optim.Adam(head.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(8, 4)
    slow.zero_grad(set_to_none=False)
    if step % 3 == 0:
        (head(body(x).detach()) - x[:, :1]).pow(2).mean().backward()
    slow.step()  # <- finding
    optimizer.zero_grad()
    (body(x) - x[:, :3]).pow(2).mean().backward()
    optimizer.step()
