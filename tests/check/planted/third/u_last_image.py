"""Defect detection on 129 scanned plates."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def conv(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.GELU(),
        nn.AvgPool2d(2),
    )


def plates(n):
    scratched = torch.randint(0, 2, (n,))
    images = torch.randn(n, 1, 16, 16) + 0.5 * torch.randn(n, 1, 1, 1)
    for i in torch.nonzero(scratched).flatten().tolist():
        row = 2 + i % 12
        images[i, 0, row, :] += 2.5
    return images, scratched.float()


x, y = plates(193)
train_loader = DataLoader(TensorDataset(x[:129], y[:129]), batch_size=16, shuffle=True)  # BUG batchnorm-batch-of-one
x_val, y_val = x[129:], y[129:]

model = nn.Sequential(conv(1, 8), conv(8, 16), nn.Flatten(), nn.Linear(256, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(6):
    model.train()
    for xb, yb in train_loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(x_val)
    acc = ((logits > 0).float() == y_val).float().mean().item()
    print(f"epoch {epoch} val loss {criterion(logits, y_val).item():.3f} accuracy {acc:.3f}")
