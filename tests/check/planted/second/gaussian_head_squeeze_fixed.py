"""Heteroscedastic regression with a mean and a variance head."""
import math
import torch
from torch import nn


class MeanVar(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 48), nn.Tanh())
        self.mean = nn.Linear(48, 1)
        self.logvar = nn.Linear(48, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h).squeeze(-1), self.logvar(h).squeeze(-1)


def nll(y, mean, logvar):
    inv = torch.exp(-logvar)
    return 0.5 * ((y - mean) ** 2 * inv + logvar + math.log(2 * math.pi)).mean()


def draw(n):
    x = torch.rand(n, 1) * 4 - 2
    y = torch.sin(2 * x[:, 0]) + (0.05 + 0.4 * (x[:, 0] > 0)) * torch.randn(n)
    return x, y


torch.manual_seed(0)
net = MeanVar()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(400):
    x, y = draw(64)
    loss = nll(y, *net(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    _, lv = net(torch.tensor([[-1.0], [1.0]]))
print("loss", loss.item(), "std at -1 and 1:", (0.5 * lv).exp().flatten().tolist(), "(true 0.05, 0.45)")
