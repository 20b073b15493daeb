"""Labels of -1 and 1 where they belong, and counts for a Poisson model."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model, rate = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *rate.parameters()], lr=0.05)
x = torch.randn(20, 4)
sign = torch.sign(x[:, :1])
counts = torch.randint(0, 9, (20, 1)).float()
for _ in range(3):
    out = model(x)
    loss = F.soft_margin_loss(out, sign) + F.relu(1 - out * sign).mean() + F.poisson_nll_loss(rate(x), counts)
    loss = loss + F.margin_ranking_loss(out[::2], out[1::2], torch.sign(sign[::2] - sign[1::2] + 0.5))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
