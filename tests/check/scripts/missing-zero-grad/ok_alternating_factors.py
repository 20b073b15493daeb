"""Matrix completion by alternating optimizers, L-BFGS for one factor and SGD for the other."""

import torch
from torch import nn

torch.manual_seed(0)
rows, cols, rank = 40, 30, 3
truth = torch.randn(rows, rank) @ torch.randn(rank, cols)
seen = torch.rand(rows, cols) < 0.5
left = nn.Parameter(0.3 * torch.randn(rows, rank))
right = nn.Parameter(0.3 * torch.randn(rank, cols))
opt_left = torch.optim.LBFGS([left], lr=0.5, max_iter=3)
opt_right = torch.optim.SGD([right], lr=3.0, momentum=0.5)


def objective():
    gap = (left @ right - truth)[seen]
    return gap.pow(2).mean() + 1e-3 * (left.pow(2).mean() + right.pow(2).mean())


def closure():
    opt_left.zero_grad()
    value = objective()
    value.backward()
    return value


for round_ in range(25):
    opt_left.step(closure)
    for _ in range(3):
        opt_right.zero_grad()
        loss = objective()
        loss.backward()
        opt_right.step()
    if round_ % 5 == 4:
        with torch.no_grad():
            hidden = (left @ right - truth)[~seen].pow(2).mean().item()
        print(f"round {round_ + 1} objective {loss.item():.4f} hidden entries {hidden:.4f}")
