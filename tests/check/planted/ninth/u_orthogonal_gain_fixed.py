# Orthogonal initialisation with the gain of another activation
import torch
from torch import nn


def init(module, gain=1.4):
    if isinstance(module, nn.Linear):
        nn.init.orthogonal_(module.weight, gain=gain)
        nn.init.zeros_(module.bias)


torch.manual_seed(41)
x = torch.randn(256, 16)
y = x[:, :1] - x[:, 1:2]
layers = [nn.Linear(16, 32)]
for _ in range(7):
    layers += [nn.ReLU(), nn.Linear(32, 32)]
model = nn.Sequential(*layers, nn.ReLU(), nn.Linear(32, 1))
model.apply(init)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
