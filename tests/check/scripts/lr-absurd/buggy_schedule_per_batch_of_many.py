"""A decay that was meant for epochs is stepped for each of many batches, of which few are recorded."""

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(400, 6)
loader = DataLoader(TensorDataset(x, x[:, :1].sin()), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
schedule = StepLR(optimizer, step_size=15, gamma=0.3)
for epoch in range(30):
    for rows, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), targets)
        loss.backward()
        optimizer.step()
        schedule.step()  # <- finding
    print(epoch, loss.item())
