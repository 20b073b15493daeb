"""A filter on names leaves out a layer."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(5, 32)
        self.body = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.norm_head = nn.Linear(32, 1)

    def forward(self, x):
        return self.norm_head(self.body(self.embed(x)))


torch.manual_seed(0)
net = Net()
params = [p for n, p in net.named_parameters() if "embed" not in n]  # <- finding
opt = torch.optim.Adam(params, 1e-3)
for _ in range(30):
    net.train()
    x = torch.randn(32, 5)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.eval()
    with torch.no_grad():
        net(x)
