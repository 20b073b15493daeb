"""A ratio of densities, whose logarithms may be positive."""

import torch
from torch import nn

torch.manual_seed(0)
mu = nn.Linear(4, 2)
ls = nn.Parameter(torch.full((2,), -1.5))
opt = torch.optim.Adam([*mu.parameters(), ls], lr=3e-3)
for it in range(8):
    s = torch.randn(128, 4)
    with torch.no_grad():
        d = torch.distributions.Normal(mu(s), ls.exp())
        a = d.sample()
        old = d.log_prob(a).sum(-1)
    adv = -(a - s[:, :2]).pow(2).sum(-1)
    adv = (adv - adv.mean()) / adv.std()
    for k in range(3):
        d = torch.distributions.Normal(mu(s), ls.exp())
        new = d.log_prob(a).sum(-1)
        ratio = (new - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
