"""Checkpoint and resume: the schedule is restored once, and an uninterrupted run agrees."""
import copy
import torch
from torch import nn


def setup():
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    return net, opt, torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=300)


g = torch.Generator().manual_seed(0)
x = torch.randn(200, 4, generator=g)
y = x.pow(2).mean(1, keepdim=True)


def run(parts, start, stop):
    net, opt, sched = parts
    for _ in range(start, stop):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        sched.step()
    return loss.item()


straight = setup()
a = run(straight, 0, 300)
before = setup()
run(before, 0, 110)
saved = copy.deepcopy([p.state_dict() for p in before])
after = setup()
for part, state in zip(after, saved):
    part.load_state_dict(state)
b = run(after, 110, 300)
print("straight", round(a, 6), "resumed", round(b, 6), "equal", abs(a - b) < 1e-7)
