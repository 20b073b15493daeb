"""A critic that is frozen during the generator's step and thawed after it; a teacher and a random network that stay frozen."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 0.01), torch.optim.Adam(D.parameters(), 0.01)
for _ in range(4):
    D.requires_grad_(True)
    d_loss = F.softplus(-D(torch.randn(8, 2) + 1)).mean() + F.softplus(D(G(torch.randn(8, 2)).detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    D.requires_grad_(False)
    g_loss = F.softplus(-D(G(torch.randn(8, 2)))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

teacher = copy.deepcopy(G).requires_grad_(False)
novelty = nn.Linear(2, 4)
for p in novelty.parameters():
    p.requires_grad = False
predictor = nn.Linear(2, 4)
optimizer = torch.optim.SGD(predictor.parameters(), lr=0.1)
for _ in range(4):
    x = teacher(torch.randn(8, 2))
    optimizer.zero_grad()
    loss = F.mse_loss(predictor(x), novelty(x))
    loss.backward()
    optimizer.step()
print(loss.item())
