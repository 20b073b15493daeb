import torch
from torch import nn


class Worst:
    def __init__(self):
        self.rows = []

    def add(self, step, losses):
        self.rows.append((step, losses[losses.argmax()]))  # <- finding


torch.manual_seed(0)
x = torch.randn(300, 6)
y = (x[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
worst = Worst()
for step, rows in enumerate(torch.randperm(300).split(10)):
    losses = nn.functional.cross_entropy(net(x[rows]), y[rows], reduction="none")
    opt.zero_grad()
    losses.mean().backward()
    opt.step()
    worst.add(step, losses)
print(len(worst.rows))
