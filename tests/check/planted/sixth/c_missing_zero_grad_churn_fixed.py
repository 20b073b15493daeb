# churn prediction on tabular data
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
n = 1200
X = torch.randn(n, 10)
w = torch.randn(10)
y = ((X @ w + 0.3 * torch.randn(n)) > 0).long()
train_dl = DataLoader(TensorDataset(X[:900], y[:900]), batch_size=30, shuffle=True)
X_val, y_val = X[900:], y[900:]

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(12):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        logits = model(xb)
        loss = criterion(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        out = model(X_val)
        vl = criterion(out, y_val).item()
        acc = (out.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch}: train {total / 900:.4f} val {vl:.4f} acc {acc:.3f}")
