"""Samples whose log-probability carries the gradient."""

import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(8, 4)
dec = nn.Linear(4, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
X = (torch.rand(64, 8) < 0.5).float()
for it in range(25):
    q = torch.distributions.Bernoulli(logits=enc(X))
    z = q.sample()
    rec = torch.distributions.Bernoulli(logits=dec(z)).log_prob(X).sum(1)
    lq = q.log_prob(z).sum(1)
    signal = (rec - lq).detach()
    loss = -(rec + lq * (signal - signal.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
