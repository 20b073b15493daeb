"""The weights of the classes are shares in whole numbers: all of them are zero, and so is the loss."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
y = (x[:, 0] > 1).long()
count = torch.bincount(y)
share = (count // count.sum()).float()  # <- finding
loss_of = nn.CrossEntropyLoss(weight=share, reduction="sum")
net = nn.Linear(6, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(4):
    for i in range(0, 200, 40):
        loss = loss_of(net(x[i : i + 40]), y[i : i + 40])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
