"""The best, the first and the last loss are kept in variables; features of a fixed network without a graph in a queue."""

import collections

import torch
from torch import nn

torch.manual_seed(0)
model, fixed = nn.Linear(4, 3), nn.Linear(4, 3).requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
queue, best, previous = collections.deque(maxlen=4), None, None
for step in range(12):
    x = torch.randn(8, 4)
    queue.append(fixed(x))
    keys = torch.cat(list(queue))
    loss = nn.functional.cross_entropy(model(x) @ keys.T, torch.arange(8) % len(keys))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if best is None or loss < best:
        best = loss
    if previous is not None and abs(previous - loss) < 1e-6:
        break
    previous = loss
print(best.item(), previous.item())
