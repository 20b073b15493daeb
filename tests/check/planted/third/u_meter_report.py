"""Image regression with running meters, as in many training repositories."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self, name):
        self.name, self.total, self.count = name, 0.0, 0

    def update(self, value, n=1):  # BUG partial-batch-mean
        self.total += value * n
        self.count += n

    @property
    def average(self):
        return self.total / max(self.count, 1)

    def __str__(self):
        return f"{self.name} {self.average:.4f}"


def brightness_images(n):
    level = torch.rand(n)
    images = level[:, None, None, None] + 0.5 * torch.randn(n, 1, 10, 10)
    return TensorDataset(images, level)


def validate(model, loader, criterion):
    meter = AverageMeter("val")
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            loss = criterion(model(x).squeeze(1), y)
            meter.update(loss.item())  # BUG partial-batch-mean
    return meter


torch.manual_seed(0)
train_loader = DataLoader(brightness_images(512), batch_size=64, shuffle=True)
val_loader = DataLoader(brightness_images(197), batch_size=64)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.SiLU(), nn.Flatten(), nn.Linear(256, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    meter = AverageMeter("train")
    model.train()
    for x, y in train_loader:
        loss = criterion(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter.update(loss.item(), len(y))
    print(f"epoch {epoch}", meter, validate(model, val_loader, criterion))
