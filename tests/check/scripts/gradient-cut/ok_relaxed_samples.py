"""Relaxed samples."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(8, 4)
dec = nn.Linear(4, 8)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
X = torch.randn(64, 8)
for it in range(25):
    z = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.7), logits=enc(X)).rsample()
    loss = F.mse_loss(dec(z), X)
    opt.zero_grad()
    loss.backward()
    opt.step()
