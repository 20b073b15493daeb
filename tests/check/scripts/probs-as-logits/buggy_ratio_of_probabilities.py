"""exp of a difference of probabilities, meant for their logarithms."""

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
for it in range(6):
    s = torch.randn(128, 4)
    with torch.no_grad():
        d = torch.distributions.Categorical(logits=actor(s))
        a = d.sample()
        old = d.probs.gather(1, a[:, None]).squeeze(1)
    adv = (a == (s[:, 0] > 0).long()).float() - 0.3
    for k in range(4):
        d = torch.distributions.Categorical(logits=actor(s))
        new = d.probs.gather(1, a[:, None]).squeeze(1)
        ratio = torch.exp(new - old)  # <- finding
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
