"""One parameter stands for every class; the second scale is the first one."""

import torch
from torch import nn


class Prototypes(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.centres = nn.ParameterList([nn.Parameter(torch.randn(width))] * classes)  # <- finding
        self.scale1 = nn.Parameter(torch.ones(width))
        self.scale2 = self.scale1  # <- finding

    def forward(self, x):
        x = x * self.scale1 + torch.tanh(x) * self.scale2
        return torch.stack([-(x - centre).pow(2).sum(1) for centre in self.centres], 1)


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
