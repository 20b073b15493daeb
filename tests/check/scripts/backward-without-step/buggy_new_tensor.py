"""An optimizer of the program's own gives the loop's variable a new tensor."""

import torch
from torch import nn

torch.manual_seed(0)


class Descent:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr

    @torch.no_grad()
    def step(self):
        for p in self.params:
            p = p - self.lr * p.grad  # <- finding

    def zero_grad(self):
        for p in self.params:
            p.grad = None


x, y = torch.randn(64, 3), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = Descent(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
