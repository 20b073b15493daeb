"""Windows of a series, four steps apart, split at random."""

import torch
from torch import nn

torch.manual_seed(0)
s = torch.cumsum(torch.randn(600), 0) * 0.1
w = s.unfold(0, 17, 4)
perm = torch.randperm(len(w))
cut = int(0.8 * len(w))
train, test = w[perm[:cut]], w[perm[cut:]]  # <- finding
net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for _ in range(10):
    loss = nn.functional.mse_loss(net(train[:, :16]), train[:, 16:])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print(nn.functional.mse_loss(net(test[:, :16]), test[:, 16:]).item())
