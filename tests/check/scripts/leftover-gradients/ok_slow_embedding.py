"""One of two optimizers steps less often, with the gradients of several batches."""

import torch
from torch import nn

torch.manual_seed(0)
table, head = nn.Embedding(20, 6), nn.Linear(6, 3)
slow = torch.optim.SGD(table.parameters(), lr=0.01)
fast = torch.optim.SGD(head.parameters(), lr=0.05)
for step in range(12):
    tokens = torch.randint(0, 20, (16,))
    fast.zero_grad()
    loss = nn.functional.cross_entropy(head(table(tokens)), tokens % 3)
    loss.backward()
    fast.step()
    if step % 3 == 2:
        slow.step()
        slow.zero_grad()
print(loss.item())
