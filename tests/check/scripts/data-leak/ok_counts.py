"""Features of few levels: runs of equal values are no windows of a series."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.log1p(torch.poisson(torch.full((400, 12), 1.5)))
y = x[:, :3].sum(1, keepdim=True) + 0.1 * torch.randn(400, 1)
x_train, y_train, x_test, y_test = x[:300], y[:300], x[300:], y[300:]
model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    for rows in torch.randperm(300).split(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x_train[rows]), y_train[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x_test), y_test).item())
