"""Predictions of an epoch that are joined at its end, a bounded buffer, a replay memory that is sampled from."""

import collections
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
model = nn.Linear(16, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
recent, memory = collections.deque(maxlen=5), []
for epoch in range(3):
    predictions = []
    for _ in range(8):
        x = torch.randn(32, 16)
        memory.append(x * 1.0)
        replayed = random.choice(memory)
        out = model(torch.cat([x, replayed]))
        loss = nn.functional.cross_entropy(out, torch.zeros(64, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        predictions.append(out.detach())
        recent.append(out.detach().softmax(1))
    print(torch.cat(predictions).argmax(1).float().mean().item(), len(recent))
