"""Mixture of experts classifier with a learned gate."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self, n_in=6, n_cls=4, n_exp=3):
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, n_cls))
                                     for _ in range(n_exp))
        self.gate = nn.Linear(n_in, n_exp)

    def forward(self, x):
        g = F.softmax(self.gate(x), dim=-1)
        p = torch.stack([F.softmax(e(x), dim=-1) for e in self.experts], dim=1)
        return (g.unsqueeze(-1) * p).sum(1)


def regimes(n):
    x = torch.randn(n, 6)
    y = torch.where(x[:, 4] > 0, x[:, :4].argmax(1), x[:, :4].argmin(1))
    return x, y


torch.manual_seed(0)
net = MoE()
opt = torch.optim.Adam(net.parameters(), lr=6e-3)
for step in range(300):
    x, y = regimes(64)
    loss = F.nll_loss(torch.log(net(x) + 1e-8), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = regimes(600)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == y).float().mean().item())
