"""Imbalanced fraud detection: oversample the positives, split, train, validate."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def transactions(n):
    x = torch.randn(n, 12)
    p = torch.sigmoid(2.5 * x[:, 0] - 1.5 * x[:, 1] - 3)
    return x, (torch.rand(n) < p).float()


def oversample(x, y):
    pos = (y == 1).nonzero().squeeze(1)
    k = int((y == 0).sum()) // max(1, len(pos))
    idx = torch.cat([(y == 0).nonzero().squeeze(1), pos.repeat(k)])
    return x[idx], y[idx]


torch.manual_seed(0)
x, y = transactions(1000)
x, y = oversample(x, y)  # BUG data-leak
n_val = len(x) // 5
train_set, val_set = random_split(TensorDataset(x, y), [len(x) - n_val, n_val])  # BUG data-leak
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(8):
    for xb, yb in DataLoader(train_set, batch_size=64, shuffle=True):
        loss = bce(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
hits = total = 0
with torch.no_grad():
    for xb, yb in DataLoader(val_set, batch_size=256):
        hits += ((model(xb).squeeze(1) > 0) == (yb == 1)).sum().item()
        total += len(yb)
print(f"val accuracy {hits / total:.3f} on {total} rows")
