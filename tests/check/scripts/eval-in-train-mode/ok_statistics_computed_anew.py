"""After training the running statistics are averaged over the data: in train mode, without gradients, and nothing is read."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(80, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for rows in torch.randperm(60).split(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
model[1].reset_running_stats()
model[1].momentum = None
with torch.no_grad():
    for rows in torch.arange(60).split(20):
        model(x[rows])
model.eval()
with torch.no_grad():
    print((model(x[60:]).argmax(1) == y[60:]).float().mean().item())
