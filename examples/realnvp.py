"""A normalizing flow (real NVP; Dinh, Sohl-Dickstein and Bengio, 2017) that learns the density of
two half moons.

python realnvp.py [--steps N] [--quick]
"""

import argparse
import math
import time

import torch
import torch.distributions as D
from torch import nn
from torch.distributions import constraints
from torch.distributions.transforms import Transform


def half_moons(n, noise=0.08):
    angle = torch.rand(n) * math.pi
    lower = (torch.rand(n) < 0.5).float()
    x = torch.where(lower > 0, 1 - torch.cos(angle), torch.cos(angle))
    y = torch.where(lower > 0, 0.5 - torch.sin(angle), torch.sin(angle))
    return torch.stack([x, y], dim=1) + noise * torch.randn(n, 2)


class AffineCoupling(nn.Module, Transform):
    """y = x on the masked part, x * exp(s(x masked)) + t(x masked) on the other."""

    domain = codomain = constraints.real_vector
    bijective = True

    def __init__(self, mask, hidden=64):
        nn.Module.__init__(self)
        Transform.__init__(self)
        self.register_buffer("mask", mask)
        width = mask.numel()
        self.net = nn.Sequential(
            nn.Linear(width, hidden),
            nn.LeakyReLU(),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(),
            nn.Linear(hidden, 2 * width),
        )
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)
        self.scale = nn.Parameter(torch.ones(width))

    __call__ = Transform.__call__
    __hash__ = nn.Module.__hash__

    def __eq__(self, other):
        return self is other

    def coefficients(self, x):
        s, t = self.net(x * self.mask).chunk(2, dim=-1)
        return torch.tanh(s) * self.scale * (1 - self.mask), t * (1 - self.mask)

    def _call(self, x):
        s, t = self.coefficients(x)
        return x * s.exp() + t

    def _inverse(self, y):
        s, t = self.coefficients(y)
        return (y - t) * (-s).exp()

    def log_abs_det_jacobian(self, x, y):
        s, _ = self.coefficients(x)
        return s.sum(-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="25 steps")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    masks = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).repeat(3, 1)
    couplings = nn.ModuleList([AffineCoupling(mask) for mask in masks])
    base = D.Independent(D.Normal(torch.zeros(2), torch.ones(2)), 1)
    flow = D.TransformedDistribution(base, list(couplings))
    optimizer = torch.optim.Adam(couplings.parameters(), lr=5e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    print(f"{sum(p.numel() for p in couplings.parameters())} parameters")
    start = time.time()
    for step in range(1, (25 if args.quick else args.steps) + 1):
        loss = -flow.log_prob(half_moons(256)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if args.quick or step % 200 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} nats per point")
    with torch.no_grad():
        points = half_moons(2000)
        entropy = -flow.log_prob(points).mean()
        back = flow.transforms[0].inv(flow.transforms[0](points))
        sample = flow.sample((4000,))
    print(
        f"test loss {entropy.item():.4f}, there and back {'exact' if torch.allclose(back, points, atol=1e-4) else 'not exact'}"
    )
    print(f"trained in {time.time() - start:.1f} s")
    histogram = torch.histogramdd(sample, bins=[36, 14], range=[-1.6, 2.6, -1.0, 1.6]).hist
    for row in histogram.T.flip(0):
        print("".join(" .:-=+*#%@"[min(int(v / 6), 9)] for v in row.tolist()))


if __name__ == "__main__":
    main()
