"""An optimizer of the program's own, whose user forgets to clear the gradients."""

import torch
from torch import nn


class Plain(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-group["lr"])


torch.manual_seed(0)
x, w = torch.randn(400, 6), torch.randn(6)
y = (x @ w > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = Plain(model.parameters(), lr=0.05)
for i in range(0, 400, 20):
    loss = nn.functional.cross_entropy(model(x[i : i + 20]), y[i : i + 20])
    loss.backward()  # <- finding
    opt.step()
print(loss.item())
