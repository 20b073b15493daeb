"""Probabilities given to a distribution as `logits`."""

import torch
from torch import nn

torch.manual_seed(0)
dec = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 9), nn.Sigmoid())
opt = torch.optim.Adam(dec.parameters(), lr=1e-2)
Z = torch.randn(64, 2)
X = (torch.rand(64, 9) < 0.4).float()
for step in range(30):
    d = torch.distributions.Bernoulli(logits=dec(Z))  # <- finding
    loss = -d.log_prob(X).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
