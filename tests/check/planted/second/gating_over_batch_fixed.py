"""Gated mixture of linear models."""
import torch
from torch import nn


class GatedMixture(nn.Module):
    def __init__(self, n_in=3, k=4):
        super().__init__()
        self.experts = nn.Linear(n_in, k)
        self.gate = nn.Sequential(nn.Linear(n_in, 24), nn.Tanh(), nn.Linear(24, k), nn.Softmax(dim=1))

    def forward(self, x):
        return (self.gate(x) * self.experts(x)).sum(1)


def f(x):
    return torch.where(x[:, 0] > 0, 2 * x[:, 1], -x[:, 2])


torch.manual_seed(0)
net = GatedMixture()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(400):
    x = torch.randn(64, 3)
    loss = nn.functional.mse_loss(net(x), f(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x = torch.randn(300, 3)
    print("mse on a batch of 300", nn.functional.mse_loss(net(x), f(x)).item(), "variance", f(x).var().item())
