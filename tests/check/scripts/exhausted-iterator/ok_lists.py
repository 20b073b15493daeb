"""Lists, an iterator that is made in each round, one that is left early, one that never ends."""

import itertools

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
model = nn.Linear(4, 1)
weights = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(weights, lr=0.05)
stream = zip(itertools.cycle(x.split(16)), itertools.cycle(x[:, :1].split(16)))
for epoch in range(3):
    pairs = zip(x.split(16), x[:, :1].split(16))
    for rows, wanted in pairs:
        loss = nn.functional.mse_loss(model(rows), wanted)
        loss = loss + 0.01 * sum(p.pow(2).sum() for p in weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for count, (rows, _) in enumerate(stream):
        if count == 2:
            break
    print(epoch, loss.item(), rows.sum().item())
