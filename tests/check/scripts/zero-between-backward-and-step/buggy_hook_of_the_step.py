"""A hook that runs before each step clears the gradients that the step is for."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x[:, :1] - x[:, 1:2]
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
optimizer.register_step_pre_hook(lambda opt, args, kwargs: opt.zero_grad())  # <- finding
for _ in range(6):
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
