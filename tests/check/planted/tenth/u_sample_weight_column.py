"""Rare rows weigh more in the loss."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 5)
rare = x[:, 0] > 1.2
y = torch.where(rare, 3.0 * x[:, 1], x[:, 2])
weight = torch.where(rare, 5.0, 1.0)[:, None]
loader = DataLoader(TensorDataset(x, y, weight), batch_size=32, shuffle=True)


def weighted_mse(pred, target, w):
    per_row = nn.functional.mse_loss(pred, target, reduction="none")
    return (per_row * w).sum() / w.sum()  # BUG mutual-broadcast


model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    for xb, yb, wb in loader:
        loss = weighted_mse(model(xb), yb, wb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("rare error", round((model(x)[rare] - y[rare]).pow(2).mean().item(), 3))
