"""A teacher without a graph, and two models that teach each other from the beginning."""

import torch
from torch import nn

torch.manual_seed(0)
F = nn.functional
x, y = torch.randn(96, 5), torch.randint(0, 3, (96,))
teacher = nn.Linear(5, 3)
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for step in range(4):
    optimizer.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    optimizer.step()
first, second = nn.Linear(5, 3), nn.Linear(5, 3)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
for rows in torch.randperm(96).split(12):
    with torch.no_grad():
        wanted = teacher(x[rows]).softmax(-1)
    one, two = first(x[rows]).log_softmax(-1), second(x[rows]).log_softmax(-1)
    loss = F.kl_div(one, wanted) + F.kl_div(two, wanted)
    loss = loss + F.kl_div(one, two.exp()) + F.kl_div(two, one.exp())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
