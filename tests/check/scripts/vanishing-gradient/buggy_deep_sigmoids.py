"""Ten layers with sigmoids: each passes on less than a quarter."""

import torch
from torch import nn

torch.manual_seed(0)
layers = [nn.Linear(8, 16), nn.Sigmoid()]
for _ in range(8):
    layers += [nn.Linear(16, 16), nn.Sigmoid()]  # <- finding
model = nn.Sequential(*layers, nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(64, 8)
y = (x[:, 0] > 0).long()
for epoch in range(6):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
