"""Cross entropy by hand: the log of a probability that has become zero."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=1))
with torch.no_grad():
    model[0].weight.mul_(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 2) * 50
y = nn.functional.one_hot(torch.randint(0, 2, (16,)), 2).float()
for step in range(4):
    probabilities = model(x)
    loss = -(y * torch.log(probabilities)).sum(dim=1).mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
