import torch
from torch import nn


class Levels(nn.Module):
    def forward(self, x):
        x = torch.sigmoid(x) * 4
        q = torch.round(x)
        return x + (q - x).detach()


torch.manual_seed(0)
x = torch.randn(100, 8)
net = nn.Sequential(nn.Linear(8, 4), Levels(), nn.Linear(4, 8))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x).backward()
    opt.step()
