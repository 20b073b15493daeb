"""Log of counts where there are any."""

import torch
from torch import nn


class CountNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = nn.Linear(5, 6)
        self.gain = nn.Parameter(torch.ones(6))
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        r = torch.relu(self.rate(x)) * self.gain
        logs = torch.log(torch.where(r > 0, r, torch.ones_like(r)))
        return self.out(logs)


torch.manual_seed(0)
net = CountNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(6):
    x = torch.randn(32, 5)
    loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
