import torch
from torch import nn


def stack(sizes, kind=nn.ReLU):
    layers = []
    for k in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[k], sizes[k + 1]))
        layers.append(kind() if k < len(sizes) - 2 else nn.Identity())
    return nn.Sequential(*layers)


torch.manual_seed(0)
x = torch.randn(200, 5)
y = (x[:, :1] - 5) * 2
net = stack([5, 16, 16, 1])
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(60):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
