"""The scores of the actions drawn where their log-probabilities are wanted."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for it in range(40):
    s = torch.randn(64, 4)
    logits = policy(s)
    a = torch.distributions.Categorical(logits=logits).sample()
    r = (a == (s[:, 0] > 0).long()).float()
    logp = logits.gather(1, a[:, None]).squeeze(1)  # <- finding
    loss = -(logp * (r - 0.3)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
