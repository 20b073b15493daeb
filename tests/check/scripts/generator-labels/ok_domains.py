"""One encoder for two domains: the label of each, and the other one to confuse."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 8))
critic = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_e = torch.optim.Adam(encoder.parameters(), lr=1e-3)
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(8):
    source, target = torch.randn(32, 2), torch.randn(32, 2) * 2 + 1
    opt_d.zero_grad()
    with torch.no_grad():
        a, b = encoder(source), encoder(target)
    (bce(critic(a), ones) + bce(critic(b), zeros)).backward()
    opt_d.step()
    opt_e.zero_grad()
    bce(critic(encoder(target)), ones).backward()
    opt_e.step()
