# Lazy layers; one batch of zeros fixes their sizes before the optimizer is made
import torch
from torch import nn

torch.manual_seed(10)
net = nn.Sequential(nn.LazyConv1d(6, 5), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
net(torch.zeros(2, 3, 30))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
y = torch.randint(0, 2, (200,))
x = torch.randn(200, 3, 30) + y[:, None, None] * torch.sin(torch.arange(30.0))
for epoch in range(4):
    for rows in torch.randperm(200).split(20):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
