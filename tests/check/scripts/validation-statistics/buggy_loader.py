"""The same with loaders, and a deviation that cannot be zero."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x_train, x_val = torch.randn(60, 3) * 4 + 2, torch.randn(30, 3) * 4 + 5
y_train, y_val = x_train[:, :1] - x_train[:, 1:2], x_val[:, :1] - x_val[:, 1:2]
x_train = (x_train - x_train.mean(dim=0, keepdim=True)) / (x_train.std(dim=0) + 1e-6)
x_val = (x_val - x_val.mean(dim=0, keepdim=True)) / (x_val.std(dim=0) + 1e-6)  # <- finding
train = DataLoader(TensorDataset(x_train, y_train), batch_size=20, shuffle=True)
val = DataLoader(TensorDataset(x_val, y_val), batch_size=30)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(3):
    for rows, target in train:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), target)
        loss.backward()
        optimizer.step()
with torch.no_grad():
    print(sum(nn.functional.mse_loss(model(rows), target).item() for rows, target in val))
