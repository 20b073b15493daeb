import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

x = torch.randn(700, 13)
y = (x[:, 0] + x[:, 3] * x[:, 7] - 0.8 * x[:, 9] > 0).float()
train_loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(x[512:], y[512:]), batch_size=188)

model = nn.Sequential(
    nn.Linear(13, 64), nn.ELU(), nn.Dropout(0.5),
    nn.Linear(64, 32), nn.ELU(), nn.Dropout(0.5),
    nn.Linear(32, 1),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()


def train():
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
    return loss.item()


def validate():
    with torch.no_grad():  # BUG eval-in-train-mode
        xb, yb = next(iter(val_loader))
        logits = model(xb).squeeze(1)  # BUG eval-in-train-mode
        return criterion(logits, yb).item(), ((logits > 0) == (yb > 0.5)).float().mean().item()


for epoch in range(8):
    loss = train()
    val_loss, val_acc = validate()
    print(f"epoch {epoch} loss {loss:.3f} val loss {val_loss:.3f} val acc {val_acc:.3f}")
