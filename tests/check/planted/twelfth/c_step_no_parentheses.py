"""Logistic regression on two blobs."""

import torch
from torch import nn

torch.manual_seed(27)
x = torch.cat([torch.randn(80, 2) + 1.5, torch.randn(80, 2) - 1.5])
y = torch.cat([torch.ones(80), torch.zeros(80)])


class Logistic(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x):
        return self.linear(x).squeeze(1)


model = Logistic()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(50):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()  # BUG backward-without-step
    optimizer.step  # BUG backward-without-step
    if epoch % 10 == 0:
        print(epoch, loss.item())
