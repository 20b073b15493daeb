import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(0)
last = nn.Linear(8, 2)
nn.init.zeros_(last.weight)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), weight_norm(nn.Linear(8, 2)))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(60, 4)
y = (x[:, 0] > 0).long()
for step in range(6):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
