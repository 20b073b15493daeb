"""Regression of log-returns with a helper that ends every MLP in an activation."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def mlp(sizes, act=nn.ReLU, final_act=None):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(act())
        elif final_act is not None:
            layers.append(final_act())
    return nn.Sequential(*layers)


class Returns(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = mlp([5, 32, 1])

    def forward(self, x):
        return self.f(x).squeeze(-1)


torch.manual_seed(0)
x = torch.randn(800, 5)
y = -2 + 0.6 * x[:, 0] - 0.4 * x[:, 1] + 0.1 * torch.randn(800)
net = Returns()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(15):
    for xb, yb in DataLoader(TensorDataset(x[:600], y[:600]), 50, shuffle=True):
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("val mse", nn.functional.mse_loss(net(x[600:]), y[600:]).item(), "variance", y.var().item())
