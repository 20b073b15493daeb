"""An optimizer of the program's own that collects gradients and moves every fifth time, and one whose rate is zero at first."""

import torch
from torch import nn


class Every(torch.optim.Optimizer):
    def __init__(self, params, lr, every):
        super().__init__(params, {"lr": lr})
        self.every, self.calls = every, 0

    @torch.no_grad()
    def step(self, closure=None):
        self.calls += 1
        for group in self.param_groups:
            for p in group["params"]:
                total = self.state[p].setdefault("total", torch.zeros_like(p))
                total += p.grad
                if self.calls % self.every == 0:
                    p -= group["lr"] * total / self.every
                    total.zero_()


torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randn(16, 2)
for lr, every in ((0.1, 5), (0.0, 1)):
    net = nn.Linear(4, 2)
    opt = Every(net.parameters(), lr, every)
    for step in range(20):
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        opt.param_groups[0]["lr"] = 0.1
    print(loss.item())
