"""One function for both loaders: it steps for the batches of the validation, too."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(120, 5)
train, held = random_split(TensorDataset(x, (x[:, 0] > 0).long()), [90, 30])
train_loader, val_loader = DataLoader(train, 30, shuffle=True), DataLoader(held, 30)
model = nn.Linear(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def epoch(loader):
    total = 0.0
    for a, b in loader:
        loss = nn.functional.cross_entropy(model(a), b, reduction="sum")
        optimizer.zero_grad()
        (loss / len(a)).backward()  # <- finding
        optimizer.step()
        total += loss.item()
    return total / len(loader.dataset)


for _ in range(3):
    print(epoch(train_loader), epoch(val_loader))
