"""The head is replaced before the optimizer is made, or the optimizer is told of the new one."""

import torch
from torch import nn


def train(model, optimizer):
    for _ in range(3):
        x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 10))
model[2] = nn.Linear(12, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print(train(model, optimizer))
model[2] = nn.Linear(12, 3)
optimizer.add_param_group({"params": model[2].parameters()})
print(train(model, optimizer))
model[0] = nn.Linear(6, 12)
optimizer = torch.optim.Adam(model.parameters())
print(train(model, optimizer))
