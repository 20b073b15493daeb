"""Concrete strength regression."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(600, 8)
y = x[:, 0] * 3 + x[:, 1] + 0.1 * torch.randn(600)
loader = DataLoader(TensorDataset(x[:500], y[:500]), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    for xb, yb in loader:
        out = model(xb)
        loss = criterion(out, yb.unsqueeze(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    pred = model(x[500:]).squeeze(1)
    r2 = 1 - (pred - y[500:]).pow(2).sum() / (y[500:] - y[500:].mean()).pow(2).sum()
print("held-out R2", r2.item())
