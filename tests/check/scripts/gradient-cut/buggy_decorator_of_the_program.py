"""A decorator of the program's own switches gradients off, also in training."""

import functools

import torch
from torch import nn


def inference(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with torch.no_grad():
            return function(*args, **kwargs)

    return wrapper


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 8), nn.Linear(8, 1)

    @inference  # <- finding
    def encode(self, x):
        return torch.tanh(self.encoder(x))

    def forward(self, x):
        return self.head(self.encode(x))


torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(8):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(loss.item(), model.encode(x).mean().item())
