"""Classes are about as frequent, and one counts more."""

import torch
from torch import nn

torch.manual_seed(0)
centers = 2 * torch.randn(4, 6)
y = torch.multinomial(torch.tensor([0.25, 0.25, 0.25, 0.25]), 600, replacement=True)
x = centers[y] + torch.randn(600, 6)
weights = torch.tensor([1.0, 1.0, 3.0, 1.0])
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for rows in torch.randperm(600).split(40):
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
