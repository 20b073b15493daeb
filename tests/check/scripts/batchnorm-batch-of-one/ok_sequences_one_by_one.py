import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(24, 2, 20)
y = torch.randint(0, 2, (24,))
net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for k, rows in enumerate(torch.randperm(24).split(4)):
    (nn.functional.cross_entropy(net(x[rows]), y[rows]) / 4).backward()
    if k % 2 == 1:
        opt.step()
        opt.zero_grad()
