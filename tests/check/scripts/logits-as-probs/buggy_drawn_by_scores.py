"""Actions drawn by comparing random numbers with scores."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for it in range(40):
    s = torch.randn(64, 4)
    logit = policy(s)
    a = (torch.rand(64) < logit).float()  # <- finding
    r = (a == (s[:, 0] > 0).float()).float()
    logp = -F.binary_cross_entropy_with_logits(logit, a, reduction="none")
    loss = -(logp * (r - r.mean())).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
