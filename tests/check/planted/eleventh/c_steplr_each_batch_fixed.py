"""A schedule meant for epochs."""

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(240, 6)
y = (x[:, :1] * x[:, 1:2]).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=12, shuffle=True)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = StepLR(optimizer, step_size=2, gamma=0.3)
for epoch in range(4):
    running = 0.0
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
print("loss", round(running / len(loader), 3), "lr", optimizer.param_groups[0]["lr"])
