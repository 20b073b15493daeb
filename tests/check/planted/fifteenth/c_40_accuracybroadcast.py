"""Fraud detection: binary labels as a column, threshold metric."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FraudNet(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


class Accuracy:
    def __init__(self, threshold=0.5):
        self.threshold = threshold
        self.values = []

    def add(self, logits, labels):
        pred = (torch.sigmoid(logits) > self.threshold).float().flatten()
        self.values.append((pred == labels).float().mean().item())  # BUG mutual-broadcast

    def result(self):
        return sum(self.values) / len(self.values)


torch.manual_seed(0)
x = torch.randn(1000, 9)
y = ((x[:, :1] + x[:, 1:2]) > 1.0).float()
train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(x[800:], y[800:]), batch_size=50)
model = FraudNet(9)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(4):
    model.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        criterion(model(xb), yb).backward()
        opt.step()
    model.eval()
    metric = Accuracy()
    with torch.no_grad():
        for xb, yb in val_loader:
            metric.add(model(xb), yb)
    print(epoch, "val accuracy", metric.result())
