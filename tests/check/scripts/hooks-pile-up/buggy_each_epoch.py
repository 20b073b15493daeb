"""Each epoch registers its own noise on top of that of the epochs before."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    std = 0.1 / (1 + epoch)
    model[0].register_forward_hook(lambda m, a, out: out + std * torch.randn_like(out))  # <- finding
    for rows in torch.randperm(40).split(10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
print(loss.item())
