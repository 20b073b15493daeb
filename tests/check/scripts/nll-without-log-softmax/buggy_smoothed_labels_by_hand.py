"""Smoothed labels times scores, without a softmax."""

import torch
from torch import nn

torch.manual_seed(0)


class Smooth(nn.Module):
    def __init__(self, c, eps=0.1):
        super().__init__()
        self.c, self.eps = c, eps

    def forward(self, x, y):
        t = torch.full_like(x, self.eps / (self.c - 1))
        t.scatter_(1, y[:, None], 1 - self.eps)
        return torch.mean(torch.sum(-t * x, dim=-1))  # <- finding


m = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
crit = Smooth(4)
X = torch.randn(128, 6)
Y = X[:, :4].argmax(1)
for step in range(30):
    loss = crit(m(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
