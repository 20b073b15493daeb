"""Two random splits, one for training and another for validation."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def loaders(dataset, batch_size):
    train, _ = random_split(dataset, [36, 12])
    _, held_out = random_split(dataset, [36, 12])  # <- finding
    return (
        DataLoader(train, batch_size, shuffle=True),
        DataLoader(held_out, batch_size),
    )


def validate(model, loader):
    model.eval()
    right = sum((model(x).argmax(dim=1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


torch.manual_seed(0)
x = torch.randn(48, 6)
train_loader, val_loader = loaders(TensorDataset(x, (x[:, 0] > 0).long()), 6)
model, criterion = nn.Linear(6, 2), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    for features, labels in train_loader:
        loss = criterion(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, validate(model, val_loader))
