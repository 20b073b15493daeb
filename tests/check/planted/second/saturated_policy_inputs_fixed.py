"""Behaviour cloning of a controller from raw sensor readings."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def demonstrations(n):
    pressure = 101325 + 800 * torch.randn(n)
    rpm = 3000 + 500 * torch.randn(n)
    temp = 350 + 20 * torch.randn(n)
    x = torch.stack([pressure, rpm, temp], 1)
    y = torch.tanh((pressure - 101325) / 800 - (rpm - 3000) / 500 + 0.5 * (temp - 350) / 20)
    return x, y.unsqueeze(1)


class Controller(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(),
                                 nn.Linear(32, 1), nn.Tanh())

    def forward(self, x):
        return self.net((x - self.mean) / self.std)


torch.manual_seed(0)
x, y = demonstrations(1000)
xtr, ytr, xva, yva = x[:800], y[:800], x[800:], y[800:]
net = Controller(xtr.mean(0), xtr.std(0))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(10):
    for xb, yb in DataLoader(TensorDataset(xtr, ytr), 40, shuffle=True):
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("val mse", nn.functional.mse_loss(net(xva), yva).item(), "variance", yva.var().item())
