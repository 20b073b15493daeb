"""A helper that is written for log-deviations gets log-variances."""

import torch
from torch import nn


def reparameterize(mean, log_scale):
    return torch.randn_like(mean).mul(log_scale.exp()).add(mean)  # <- finding


torch.manual_seed(0)
body, mean, logvar = nn.Linear(5, 8), nn.Linear(8, 2), nn.Linear(8, 2)
decode = nn.Linear(2, 5)
modules = nn.ModuleList([body, mean, logvar, decode])
optimizer = torch.optim.Adam(modules.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(32, 5)
    h = torch.relu(body(x))
    m, v = mean(h), logvar(h)
    fit = nn.functional.mse_loss(decode(reparameterize(m, v)), x, reduction="sum")
    kl = -0.5 * torch.sum(1 + v - m * m - torch.exp(v))
    loss = (fit + kl) / len(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
