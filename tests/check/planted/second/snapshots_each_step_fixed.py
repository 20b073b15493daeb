"""Stochastic weight averaging over the last snapshots."""
import copy
import torch
from torch import nn


class SnapshotAverager:
    def __init__(self, keep=5):
        self.keep = keep
        self.states = []

    def collect(self, model):
        self.states.append(copy.deepcopy(model.state_dict()))
        del self.states[:-self.keep]

    def averaged(self):
        last = self.states[-self.keep:]
        return {k: torch.stack([s[k] for s in last]).mean(0) for k in last[0]}


def noisy_line(n):
    x = torch.rand(n, 1) * 4 - 2
    return x, torch.cos(2 * x) + 0.3 * torch.randn(n, 1)


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    avg = SnapshotAverager()
    for step in range(300):
        x, y = noisy_line(64)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg.collect(net)
    net.load_state_dict(avg.averaged())
    x = torch.linspace(-2, 2, 100).unsqueeze(1)
    with torch.no_grad():
        print("mse of the average", nn.functional.mse_loss(net(x), torch.cos(2 * x)).item())


main()
