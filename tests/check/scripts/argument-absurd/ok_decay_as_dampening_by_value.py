from types import SimpleNamespace

import torch
from torch import nn

torch.manual_seed(0)
MOMENTUM, LR, args = 0.9, 0.05, SimpleNamespace(momentum=0.9)
x, y = torch.randn(256, 10), torch.randint(0, 3, (256,))
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), 0.05, 0.9, weight_decay=5e-4)
for epoch in range(6):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
