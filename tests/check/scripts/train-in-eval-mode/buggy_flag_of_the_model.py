"""The flag of the model alone is set back after an evaluation."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Dropout(0.5))
net = nn.Sequential(body, nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)


def evaluate():
    net.eval()
    with torch.no_grad():
        x = torch.randn(32, 5)
        print((net(x) - x[:, :1]).pow(2).mean().item())
    net.training = True  # <- finding


for e in range(4):
    for _ in range(10):
        x = torch.randn(32, 5)
        loss = (net(x) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    evaluate()
