import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, random_split

torch.manual_seed(5)
x = 40.0 + 12.0 * torch.randn(700, 8)
y = ((x[:, 0] - x[:, 1]) * (x[:, 2] - 40.0) > 0).long()
train_set, val_set = random_split(TensorDataset(x, y), [500, 200])
train_loader = DataLoader(train_set, 25, shuffle=True)
val_loader = DataLoader(val_set, 100)

model = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)


def validate():
    model.eval()  # BUG train-in-eval-mode
    hits = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            hits += (model(xb).argmax(1) == yb).sum().item()
    return hits / len(val_set)


print("before training:", validate())
for epoch in range(14):  # BUG train-in-eval-mode
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f} val acc {validate():.3f}")
print("batches tracked by the input norm:", int(model[0].num_batches_tracked))
