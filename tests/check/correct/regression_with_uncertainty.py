"""Heteroscedastic regression with normalised targets, early stopping on a validation set, the best weights kept, dropout for uncertainty."""

import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.rand(160, 2) * 4 - 2
y = (x[:, :1] * x[:, 1:]).sin() + 0.1 * torch.randn(160, 1)
mean, std = y[:120].mean(), y[:120].std()
train, val = TensorDataset(x[:120], (y[:120] - mean) / std), TensorDataset(x[120:], (y[120:] - mean) / std)
model = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Dropout(0.1), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
criterion = nn.GaussianNLLLoss()
best, best_state, patience = float("inf"), None, 0
for epoch in range(8):
    model.train()
    total = 0.0
    for inputs, targets in DataLoader(train, batch_size=32, shuffle=True):
        out = model(inputs)
        loss = criterion(out[:, :1], targets, out[:, 1:].exp())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
    model.eval()
    with torch.no_grad():
        sums = [((model(a)[:, :1] - b) ** 2).sum().item() for a, b in DataLoader(val, batch_size=40)]
    error = sum(sums) / len(val)
    scheduler.step(error)
    print(f"{epoch} {total / len(train):.3f} {error:.3f}")
    if error < best:
        best, best_state, patience = error, copy.deepcopy(model.state_dict()), 0
    else:
        patience += 1
        if patience == 3:
            break
model.load_state_dict(best_state)
model.eval()
for m in model.modules():
    if isinstance(m, nn.Dropout):
        m.train()
with torch.no_grad():
    draws = torch.stack([model(x[120:])[:, 0] for _ in range(8)]) * std + mean
print(draws.std(0).mean().item())
