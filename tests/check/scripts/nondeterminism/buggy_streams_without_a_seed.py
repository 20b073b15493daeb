"""torch is seeded; a stream of Python's own is made without a seed, and one of torch's is seeded by the system."""

import random

import torch
from torch import nn

torch.manual_seed(0)
picks = random.Random()  # <- finding
noise = torch.Generator()
noise.seed()  # <- finding
x = torch.randn(32, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    rows = [picks.randrange(32) for _ in range(8)]
    loss = (model(x[rows] + 0.1 * torch.randn(8, 4, generator=noise)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
