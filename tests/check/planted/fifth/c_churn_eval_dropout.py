"""Customer churn MLP with dropout and batch norm."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(11)

N, D = 1400, 16
X = torch.randn(N, D)
w = torch.randn(D) / 2
y = ((X @ w + 0.8 * X[:, 0] * X[:, 1]) > 0).float()
full = TensorDataset(X, y)
train_set, val_set = random_split(full, [1000, 400], generator=torch.Generator().manual_seed(1))
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(
    nn.Linear(D, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.6),
    nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.6),
    nn.Linear(32, 1),
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def validate():
    hits = 0
    with torch.no_grad():  # BUG eval-in-train-mode
        for xb, yb in val_loader:
            logits = model(xb).squeeze(1)  # BUG eval-in-train-mode
            hits += ((logits > 0).float() == yb).sum().item()
    return hits / len(val_set)


for epoch in range(8):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    print(f"epoch {epoch}  loss {running / len(train_set):.4f}  val acc {validate():.4f}")
print("repeat of the last validation:", [round(validate(), 4) for _ in range(3)])
