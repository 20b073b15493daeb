"""One-hot actions that pick a value."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for it in range(30):
    s = torch.randn(64, 4)
    a = torch.randint(0, 3, (64,))
    r = torch.rand(64)
    w = torch.rand(64)
    qa = (q(s) * F.one_hot(a, 3).float()).sum(1)
    with torch.no_grad():
        y = r + 0.9 * q(torch.randn(64, 4)).max(1).values
    td = y - qa
    loss = (w * td.pow(2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
