"""Gumbel softmax of what a softmax has made."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(6, 4)
dec = nn.Linear(4, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
X = torch.randn(64, 6)
for step in range(30):
    q = F.softmax(enc(X), dim=-1)
    z = F.gumbel_softmax(q, tau=0.7)  # <- finding
    kl = (q * (q + 1e-9).log()).sum(-1).mean()
    loss = F.mse_loss(dec(z), X) + 0.01 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
