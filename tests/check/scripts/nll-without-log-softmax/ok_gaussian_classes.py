"""A generative classifier: nll_loss picks the log-density of the right class, which need not sum to one."""

import math

import torch
import torch.nn.functional as F

torch.manual_seed(0)
means = torch.randn(3, 2, requires_grad=True)
log_scale = torch.zeros(3, 2, requires_grad=True)
optimizer = torch.optim.Adam([means, log_scale], lr=0.05)
x, y = torch.randn(30, 2), torch.randint(0, 3, (30,))
for _ in range(5):
    z = (x[:, None] - means) * torch.exp(-log_scale)
    log_density = (-0.5 * z**2 - log_scale - 0.5 * math.log(2 * math.pi)).sum(dim=-1)
    loss = F.nll_loss(log_density, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
