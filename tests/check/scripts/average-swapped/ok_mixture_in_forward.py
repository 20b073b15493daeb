"""A layer computes with a mixture of its first and its present weights."""

import torch
from torch import nn

torch.manual_seed(0)


class Anchored(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_buffer("first", self.weight.detach().clone())

    def forward(self, x):
        return nn.functional.linear(x, 0.1 * self.first + 0.9 * self.weight, self.bias)


x = torch.randn(40, 4)
model = Anchored(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(2):
    for rows in x.split(10):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), rows.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
print(loss.item())
