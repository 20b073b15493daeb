"""Two mistakes in one evaluation: its rows overlap the training set, and dropout is left on."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
X = torch.randn(300, 12)
Y = (X[:, :3].sum(1) > 0).float()
dataset = TensorDataset(X, Y)
training, held_out = Subset(dataset, range(250)), Subset(dataset, range(200, 300))  # <- finding
train_loader, val_loader = DataLoader(training, 25, shuffle=True), DataLoader(held_out, 50)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        criterion(model(x).squeeze(1), y).backward()
        optimizer.step()
    with torch.no_grad():
        right = sum(((model(x).squeeze(1) > 0) == y.bool()).sum().item() for x, y in val_loader)  # <- finding: eval-in-train-mode
