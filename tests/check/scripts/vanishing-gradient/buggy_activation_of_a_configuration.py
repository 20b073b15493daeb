"""A tower of sigmoids: the activation is chosen by its name."""

import torch
from torch import nn

KINDS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}
SETTINGS = {
    "width": 20,
    "depth": 9,
    "kind": "sigmoid",  # <- finding
}


def tower(width, depth, kind):
    Activation = KINDS[kind]
    layers = [nn.Linear(4, width), Activation()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), Activation()]
    return nn.Sequential(*layers, nn.Linear(width, 2))


torch.manual_seed(0)
model = tower(SETTINGS["width"], SETTINGS["depth"], SETTINGS["kind"])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(64, 4)
y = (x[:, 0] * x[:, 1] > 0).long()
for step in range(20):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
