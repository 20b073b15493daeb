"""The main directions are those of all rows."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 40) @ torch.randn(40, 40)
y = (x[:, 0] > 0).long()
center = x.mean(0)  # <- finding
_, _, v = torch.linalg.svd(x - center, full_matrices=False)
z = (x - center) @ v[:8].T
net = nn.Linear(8, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(40):
    i = torch.randint(0, 150, (32,))
    loss = F.cross_entropy(net(z[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print("val", (net(z[150:]).argmax(1) == y[150:]).float().mean().item())
