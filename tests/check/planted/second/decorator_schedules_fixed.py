"""Training step wrapped by a decorator that logs and schedules."""
import functools
import torch
import torch.nn as nn


def scheduled(sched, log):
    def deco(fn):
        @functools.wraps(fn)
        def wrapper(*a, **k):
            log.append(sched.get_last_lr()[0])
            out = fn(*a, **k)
            sched.step()
            return out
        return wrapper
    return deco


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[150, 220], gamma=0.2)
rates = []


@scheduled(sched, rates)
def train_step(x, y):
    opt.zero_grad()
    loss = nn.functional.smooth_l1_loss(net(x), y)
    loss.backward()
    opt.step()
    return loss.item()


for i in range(250):
    x = torch.randn(64, 4)
    loss = train_step(x, x[:, :1] * x[:, 1:2])
print("loss", loss, "rates", sorted(set(round(r, 5) for r in rates)))
