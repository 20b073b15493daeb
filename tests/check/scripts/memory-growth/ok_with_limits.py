"""The same with limits: a cache by length, a ring buffer, a bank of the last rows, one hook, a list that is read in each epoch."""

import functools
from collections import deque

import torch
from torch import nn


@functools.lru_cache(maxsize=None)
def positions(length):
    return torch.sin(torch.arange(length) / 10.0).repeat(16, 1)


class Buffer:
    def __init__(self, capacity):
        self.capacity = capacity
        self.rows = []
        self.next = 0

    def push(self, row):
        if len(self.rows) < self.capacity:
            self.rows.append(row)
        else:
            self.rows[self.next % self.capacity] = row
        self.next += 1


torch.manual_seed(0)
model = nn.Linear(32, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model.register_forward_hook(lambda module, args, out: None)
buffer, bank, recent = Buffer(20), torch.zeros(1, 32), deque(maxlen=10)
for epoch in range(4):
    outputs = []
    for _ in range(16):
        x = torch.randn(16, 32)
        out = model(x + 0.1 * positions(32))
        loss = out.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        buffer.push(x[0, :2])
        recent.append(x)
        outputs.append(out.detach())
        bank = torch.cat([bank, x[:2]])[-40:]
    print(epoch, torch.cat(outputs).mean().item(), bank.shape)
