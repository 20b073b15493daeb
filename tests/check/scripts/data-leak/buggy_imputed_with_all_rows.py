"""Missing values are filled with the means of all rows."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6) + 3
y = (x[:, 0] > 3).long()
x[torch.rand(200, 6) < 0.2] = float("nan")
means = torch.nanmean(x, dim=0)  # <- finding
x = torch.where(torch.isnan(x), means, x)
xt, xv, yt, yv = x[:150], x[150:], y[:150], y[150:]
net = nn.Linear(6, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(40):
    i = torch.randint(0, 150, (32,))
    loss = F.cross_entropy(net(xt[i]), yt[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print("val", (net(xv).argmax(1) == yv).float().mean().item())
