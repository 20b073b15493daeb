"""Hooks and steps of the user's own that clear once the parameters have moved; the first steps of a warmup move nothing."""

import torch
from torch import nn


class Clearing(torch.optim.Adam):
    def step(self, closure=None):
        result = super().step(closure)
        self.zero_grad(set_to_none=False)
        return result


torch.manual_seed(0)
x = torch.randn(64, 4)
y = x[:, :1] - x[:, 1:2]
model, other = nn.Linear(4, 1), nn.Linear(4, 1)
optimizer = Clearing(model.parameters(), lr=0.1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
second.register_step_post_hook(lambda opt, args, kwargs: opt.zero_grad())
warmup = torch.optim.lr_scheduler.LambdaLR(second, lambda step: min(1.0, step / 2))
for _ in range(8):
    loss = nn.functional.mse_loss(model(x), y) + nn.functional.mse_loss(other(x), y)
    loss.backward()
    optimizer.step()
    second.step()
    warmup.step()
    print(loss.item())
