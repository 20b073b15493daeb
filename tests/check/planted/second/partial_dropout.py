"""Recommender with pluggable regularisation functions."""
from functools import partial
import torch
import torch.nn as nn
import torch.nn.functional as F


class MF(nn.Module):
    def __init__(self, n_u, n_i, d=12, reg=partial(F.dropout, p=0.3)):  # BUG functional-dropout-always-on
        super().__init__()
        self.u, self.i = nn.Embedding(n_u, d), nn.Embedding(n_i, d)
        self.mlp = nn.Linear(d, 1)
        self.reg = reg

    def forward(self, u, i):
        x = self.reg(self.u(u) * self.i(i))  # BUG functional-dropout-always-on
        return self.mlp(x).squeeze(-1)


def ratings(n, pu, qi):
    u, i = torch.randint(0, len(pu), (n,)), torch.randint(0, len(qi), (n,))
    return u, i, (pu[u] * qi[i]).sum(1) + 0.1 * torch.randn(n)


torch.manual_seed(0)
pu, qi = torch.randn(40, 2), torch.randn(40, 2)
net = MF(40, 40)
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(400):
    net.train()
    u, i, r = ratings(128, pu, qi)
    loss = F.mse_loss(net(u, i), r)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    u, i, r = ratings(2000, pu, qi)
    print("test mse", F.mse_loss(net(u, i), r).item(), "variance", r.var().item())
