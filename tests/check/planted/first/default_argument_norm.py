"""Multi-stage temporal network; each stage takes a normalisation module."""
import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, c_in, c_out, norm=nn.GroupNorm(2, 16)):  # BUG param-shared
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 3, padding=1)
        self.norm = norm

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class TCN(nn.Module):
    def __init__(self, width=16, stages=3):
        super().__init__()
        self.stages = nn.Sequential(*(Stage(1 if i == 0 else width, width) for i in range(stages)))
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        return self.head(self.stages(x).mean(-1))


def pulses(n):
    x = 0.2 * torch.randn(n, 1, 40)
    y = torch.randint(0, 2, (n,))
    for i in range(n):
        s = int(torch.randint(0, 30, (1,)))
        w = 4 if y[i] else 8
        x[i, 0, s:s + w] += 8.0 / w
    return x, y


def run(steps=120):
    torch.manual_seed(3)
    xtr, ytr = pulses(400)
    xva, yva = pulses(200)
    net = TCN()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for _ in range(steps):
        idx = torch.randint(0, 400, (40,))
        loss = nn.functional.cross_entropy(net(xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print("val acc", (net(xva).argmax(1) == yva).float().mean().item())


run()
