"""A function that makes its batches at each call; a counter that goes on over the epochs; a model
of the program's own whose `parameters()` is a list.
"""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 4)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def batches():
    return map(lambda rows: (rows, rows[:, :1]), x.split(16))


numbers = iter(range(100))
for epoch in range(3):
    for rows, wanted in batches():
        loss = nn.functional.mse_loss(model(rows), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step = next(numbers)
print(step, loss.item())


class Line:
    def __init__(self):
        self.w, self.b = torch.zeros(4, requires_grad=True), torch.zeros(1, requires_grad=True)

    def parameters(self):
        return [self.w, self.b]


line = Line()
weights = line.parameters()
optimizer = torch.optim.SGD(weights, lr=0.05)
for rows, wanted in batches():
    loss = nn.functional.mse_loss(rows @ line.w + line.b, wanted[:, 0])
    loss = loss + 0.01 * sum(p.pow(2).sum() for p in weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
