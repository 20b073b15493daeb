"""Gradient accumulation: eight micro batches per update."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accumulate = 8

x = torch.randn(640, 10)
y = (x[:, 0] * x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=8, shuffle=True)
x_val, y_val = x[512:], y[512:]

model = nn.Sequential(nn.Linear(10, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-2, total_steps=5 * 8)
criterion = nn.CrossEntropyLoss()

optimizer.zero_grad()
for epoch in range(5):
    total = 0.0
    for i, (xb, yb) in enumerate(loader):
        loss = criterion(model(xb), yb)
        (loss / accumulate).backward()
        total += loss.item()
        if (i + 1) % accumulate == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.3f} val acc {acc:.3f}")
