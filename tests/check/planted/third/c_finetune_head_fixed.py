import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.GELU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.GELU(),
            nn.Flatten(),
        )
        self.fc = nn.Linear(16 * 16, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def make_data(n, prototypes):
    y = torch.randint(0, len(prototypes), (n,))
    return TensorDataset(prototypes[y] + torch.randn(n, 3, 16, 16), y)


def run_epoch(model, loader, optimizer, criterion):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


criterion = nn.CrossEntropyLoss()
old = 0.6 * torch.randn(10, 3, 16, 16)
new = 0.6 * torch.randn(3, 3, 16, 16)

# a network "pretrained" on ten classes
model = Backbone(classes=10)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
pretrain = DataLoader(make_data(320, old), batch_size=32, shuffle=True)
for _ in range(2):
    print("pretrain", round(run_epoch(model, pretrain, optimizer, criterion), 3))

# fine-tune everything on three new classes
model.fc = nn.Linear(model.fc.in_features, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=2e-2, momentum=0.9)
finetune = DataLoader(make_data(192, new), batch_size=32, shuffle=True)
x_val, y_val = make_data(96, new).tensors
for epoch in range(4):
    loss = run_epoch(model, finetune, optimizer, criterion)
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"finetune {epoch} loss {loss:.3f} val acc {acc:.3f}")
