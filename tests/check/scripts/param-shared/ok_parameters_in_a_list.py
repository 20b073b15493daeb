"""A parameter for each class, in a list and in a dictionary; one scale that two names say they share."""

import torch
from torch import nn


class Prototypes(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.centres = nn.ParameterList([nn.Parameter(torch.randn(width)) for _ in range(classes)])
        self.shift = nn.ParameterDict({str(k): nn.Parameter(torch.zeros(())) for k in range(classes)})
        self.scale = nn.Parameter(torch.ones(width))
        self.shared_scale = self.scale

    def forward(self, x):
        x = x * self.scale + torch.tanh(x) * self.shared_scale
        return torch.stack([self.shift[str(k)] - (x - c).pow(2).sum(1) for k, c in enumerate(self.centres)], 1)


torch.manual_seed(0)
net = Prototypes(6, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
y = torch.randint(0, 3, (60,))
x = torch.randn(3, 6)[y] * 2 + torch.randn(60, 6)
for _ in range(5):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
