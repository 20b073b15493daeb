"""The rate is lowered when the loss has not grown."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
x_val = torch.randn(32, 6)
y_val = (x_val[:, 0] > 0).long()
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=1)  # <- finding
for epoch in range(5):
    for rows in torch.randperm(64).split(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        found = nn.functional.cross_entropy(model(x_val), y_val).item()
    scheduler.step(found)
    print(epoch, found)
