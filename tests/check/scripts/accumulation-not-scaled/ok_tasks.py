"""Several tasks share a body: the sum of their losses is meant."""

import torch
from torch import nn

torch.manual_seed(0)
body, heads = nn.Linear(6, 16), nn.ModuleList(nn.Linear(16, 2) for _ in range(3))
x = torch.randn(120, 6)
labels = [(x[:, k] > 0).long() for k in range(3)]
optimizer = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
for epoch in range(2):
    for rows in torch.randperm(120).split(30):
        optimizer.zero_grad()
        for head, y in zip(heads, labels):
            loss = nn.functional.cross_entropy(head(torch.relu(body(x[rows]))), y[rows])
            loss.backward()
        optimizer.step()
    print(epoch, loss.item())
