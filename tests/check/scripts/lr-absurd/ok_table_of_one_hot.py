"""A table of values that is learned from one-hot rows: with one row in a batch a rate of 0.5 sets
an entry to its target, and later rows move it a little.
"""

import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(2)
table = nn.Linear(3, 1, bias=False)
with torch.no_grad():
    table.weight.mul_(0.3)
optimizer = torch.optim.SGD(table.parameters(), lr=0.5)
rewards = [0.9, 0.1, 0.5]
seen = [(0, 0.0)]
for _ in range(120):
    rows = random.sample(seen, min(32, len(seen)))
    x = nn.functional.one_hot(torch.tensor([arm for arm, _ in rows]), 3).float()
    y = torch.tensor([[reward] for _, reward in rows])
    loss = nn.functional.mse_loss(table(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    arm = random.randrange(3)
    seen.append((arm, float(random.random() < rewards[arm])))
print(loss.item())
