"""One function runs training and validation epochs; only gradients are switched, not the mode."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    total, count = 0.0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = model(x)  # <- finding
            loss = criterion(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(x)
            count += len(x)
    return total / count


torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 5), torch.randint(0, 2, (48,)))
train, val = torch.utils.data.random_split(data, [32, 16])
model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    a = run_epoch(model, DataLoader(train, batch_size=8, shuffle=True), nn.CrossEntropyLoss(), optimizer)
    b = run_epoch(model, DataLoader(val, batch_size=8), nn.CrossEntropyLoss())
    print(f"{epoch} {a:.3f} {b:.3f}")
