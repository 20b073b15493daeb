"""A table of item numbers and times in half precision: above 2048 not every whole number is one."""

import torch
from torch import nn

torch.manual_seed(0)
items = torch.randint(0, 1500, (64,)) * 2 + 1
table = torch.stack([items.float(), 30 + 200 * torch.rand(64)], dim=1).half()  # <- finding
ids, seconds = table[:, 0].long(), table[:, 1].float()
model = nn.Linear(1, 3001)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for start in range(0, 64, 16):
    part = slice(start, start + 16)
    loss = nn.functional.cross_entropy(model(seconds[part, None] / 100), ids[part])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
