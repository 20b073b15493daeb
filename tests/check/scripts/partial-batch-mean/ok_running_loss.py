"""The usual running loss while training, over models that change from batch to batch, and losses printed one by one."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = torch.randn(50, 4), torch.randn(50, 1)
loader = DataLoader(TensorDataset(x[:36], y[:36]), batch_size=8, shuffle=True)
rest = DataLoader(TensorDataset(x[36:], y[36:]), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    running = 0.0
    for a, b in loader:
        loss = nn.functional.mse_loss(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(epoch, running / len(loader))
with torch.no_grad():
    worst = 0.0
    for a, b in rest:
        error = nn.functional.l1_loss(model(a), b).item()
        worst = max(worst, error)
        print(f"{error:.3f}")
print(worst)
