"""Image classifier that validates several times within an epoch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.conv2(x)).mean(dim=(2, 3))
        return self.fc(self.drop(x))


def make_images(n):
    y = torch.randint(0, 4, (n,))
    x = 0.5 * torch.randn(n, 1, 8, 8)
    for i in range(n):
        r, c = divmod(int(y[i]), 2)
        x[i, 0, 4 * r:4 * r + 4, 4 * c:4 * c + 4] += 1.0
    return TensorDataset(x, y)


def validate(model, loader):
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hits / total  # BUG train-in-eval-mode


torch.manual_seed(3)
train_set, val_set = random_split(make_images(700), [600, 100])
train_loader = DataLoader(train_set, batch_size=30, shuffle=True)
val_loader = DataLoader(val_set, batch_size=50)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    model.train()
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if i % 5 == 4:
            acc = validate(model, val_loader)  # BUG train-in-eval-mode
            print(f"epoch {epoch} iter {i} loss {loss.item():.3f} val acc {acc:.3f}")  # BUG train-in-eval-mode
