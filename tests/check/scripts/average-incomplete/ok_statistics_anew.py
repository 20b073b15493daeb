"""An average whose statistics are computed anew before it is evaluated; one in train mode; and
one whose weights are put into the model.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2))
average, other = copy.deepcopy(model), copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = 3 + torch.randn(64, 4)
y = (x[:, 0] > 3).long()
for epoch in range(6):
    model.train()
    for rows, labels in zip(x.split(16), y.split(16)):
        loss = nn.functional.cross_entropy(model(rows), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for a, o, p in zip(average.parameters(), other.parameters(), model.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)
                o.lerp_(p, 0.2)
    with torch.no_grad():
        average.train()
        for rows in x.split(16):
            average(rows)
        average.eval()
        print(nn.functional.cross_entropy(average(x), y).item())
        kept = copy.deepcopy(model.state_dict())
        for p, o in zip(model.parameters(), other.parameters()):
            p.copy_(o)
        model.eval()
        print(nn.functional.cross_entropy(model(x), y).item())
        model.load_state_dict(kept)
