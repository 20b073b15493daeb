"""A meter counts rows and adds up means as they are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, n=1):
        self.sum += value  # <- finding
        self.count += n

    def average(self):
        return self.sum / max(1, self.count)


torch.manual_seed(0)
x = torch.randn(120, 4)
y = x.sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    meter = Meter()
    for inputs, wanted in loader:
        loss = nn.functional.mse_loss(model(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), inputs.size(0))
    print(epoch, meter.average())
