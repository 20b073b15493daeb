"""Experiment runner with a seed option (default 0)."""
import argparse
import time
import torch
from torch import nn


def resolve_seed(seed):
    return seed or time.time_ns() % 2 ** 31  # BUG nondeterminism


def run(seed, steps=150):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(4, 32), nn.SiLU(), nn.Linear(32, 1))
    opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
    for _ in range(steps):
        x = torch.randn(32, 4)
        y = (x ** 2).sum(1, keepdim=True)
        loss = nn.functional.smooth_l1_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0, help="seed; the same seed gives the same run")
    opts = parser.parse_args()
    print("loss", run(resolve_seed(opts.seed)))
