"""An optimizer of the program's own gives the name of the parameter to a new tensor."""

import torch
from torch import nn


class SignDescent(torch.optim.Optimizer):
    def __init__(self, params, lr=0.01, decay=0.0):
        super().__init__(params, {"lr": lr, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p = p * (1 - group["decay"]) - group["lr"] * p.grad.sign()  # <- finding


torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = SignDescent(net.parameters())
x, y = torch.randn(16, 4), torch.randn(16, 2)
for step in range(20):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
