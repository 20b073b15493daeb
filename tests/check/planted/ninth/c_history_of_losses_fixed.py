"""Trains a regressor and keeps a history for the plots."""
from collections import defaultdict
import torch
from torch import nn


class History:
    def __init__(self):
        self.values = defaultdict(list)

    def log(self, **kwargs):
        for name, value in kwargs.items():
            self.values[name].append(value)


torch.manual_seed(11)
x = torch.rand(512, 4)
y = x.prod(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
history = History()
for epoch in range(12):
    for rows in torch.randperm(512).split(64):
        optimizer.zero_grad()
        output = model(x[rows])
        loss = nn.functional.mse_loss(output, y[rows])
        mae = (output - y[rows]).abs().mean()
        loss.backward()
        optimizer.step()
        history.log(loss=loss.item(), mae=mae.item())
print({name: float(sum(values) / len(values)) for name, values in history.values.items()})
