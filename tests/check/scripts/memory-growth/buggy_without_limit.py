"""A cache by step, a buffer beyond its own capacity, a bank that only ever gets longer, and a hook in the loop."""

import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=None)  # <- finding
def positions(step, length):
    return torch.sin(torch.arange(length) / (1.0 + step)).repeat(16, 1)


class Buffer:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rows = []

    def push(self, row):
        self.rows.append(row)  # <- finding


torch.manual_seed(0)
model = nn.Linear(32, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
buffer, bank = Buffer(20), torch.zeros(1, 32)
for step in range(64):
    x = torch.randn(16, 32)
    model.register_forward_hook(lambda module, args, out: None)  # <- finding: hooks-pile-up
    loss = model(x + 0.1 * positions(step, 32)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    buffer.push(x[0, :2])
    bank = torch.cat([bank, x[:2]])  # <- finding
print(bank.shape, len(buffer.rows))
