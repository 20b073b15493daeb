"""Gradients are halved by a hook, once more in every step."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(40, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_step(rows):
    model.weight.register_hook(lambda g: 0.8 * g)  # <- finding
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(rows), rows[:, :1])
    loss.backward()
    optimizer.step()
    return loss.item()


for _ in range(3):
    for part in x.split(10):
        last = train_step(part)
print(last)
