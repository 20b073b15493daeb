"""Nine layers of leaky ReLU with standard normal weights: the gradient grows at each layer."""

import torch
from torch import nn


def reset(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight)  # <- finding


torch.manual_seed(0)
layers = [nn.Linear(6, 32), nn.LeakyReLU(0.3)]
for _ in range(7):
    layers += [nn.Linear(32, 32), nn.LeakyReLU(0.3)]
model = nn.Sequential(*layers, nn.Linear(32, 3))
model.apply(reset)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
for epoch in range(5):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
