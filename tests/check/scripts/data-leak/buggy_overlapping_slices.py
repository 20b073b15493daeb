"""Training takes the first 40 rows, validation begins at row 30."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(50, 5)
y = x.sum(dim=1, keepdim=True)
x_train, y_train = x[:40], y[:40]
x_val, y_val = x[30:], y[30:]  # <- finding
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x_train), y_train)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(x_val), y_val)
    print(epoch, loss.item(), val_loss.item())
