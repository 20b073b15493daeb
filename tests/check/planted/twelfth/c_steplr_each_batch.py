"""Training with a step schedule: a tenth of the rate every three epochs."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)
x = torch.randn(480, 14)
y = (x[:, :7].sum(1) > x[:, 7:].sum(1)).long()
train_loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)

for epoch in range(6):
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()  # BUG lr-absurd
        total += loss.item() * len(xb)
    print(f"epoch {epoch + 1}: {total / len(x):.4f} (lr {optimizer.param_groups[0]['lr']:.2g})")
