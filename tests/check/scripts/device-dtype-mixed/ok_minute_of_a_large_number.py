import torch
from torch import nn

torch.manual_seed(0)
stamps = 1_700_000_000 + torch.randint(0, 90_000, (100,))
seconds = (stamps % 60).float()
x = torch.stack([seconds / 60, torch.ones(100)], 1)
y = (stamps % 60 < 30).long()
net = nn.Linear(2, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(5):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
