"""A column of means and a row of values."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
X = torch.randn(64, 4)
Y = X[:, 0] * 2
for step in range(20):
    mu, ls = m(X).chunk(2, dim=1)
    dist = torch.distributions.Normal(mu, ls.exp())
    loss = -dist.log_prob(Y).mean()  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
