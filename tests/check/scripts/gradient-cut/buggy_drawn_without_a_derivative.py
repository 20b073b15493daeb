"""`sample` where `rsample` is wanted."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(6, 2)
dec = nn.Linear(2, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
X = torch.randn(64, 6)
for step in range(20):
    q = torch.distributions.Normal(enc(X), 0.1)
    z = q.sample()  # <- finding
    loss = F.mse_loss(dec(z), X)
    opt.zero_grad()
    loss.backward()
    opt.step()
