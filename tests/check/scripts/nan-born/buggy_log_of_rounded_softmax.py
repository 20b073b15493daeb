"""The log of a softmax over large scores: the probability is so small that 1 / p overflows, though the loss is finite."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
with torch.no_grad():
    model.weight.copy_(torch.tensor([[24.0, 0, 0, 0], [-24.0, 0, 0, 0]]))
    model.bias.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
x = torch.randn(16, 4)
x[0, 0] = 1.98
y = torch.where(x[:, 0] > 0, 0, 1)
y[0] = 1
for step in range(3):
    p = torch.softmax(model(x), dim=1)[torch.arange(16), y]
    loss = -torch.log(p).mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
