"""`torch.max` returns values and indices."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.classifier = nn.Linear(96, 3)

    def forward(self, x):
        return self.classifier(self.features(x))


def stripes(n):
    y = torch.randint(0, 3, (n,))
    base = torch.zeros(n, 1, 12, 12)
    base[y == 0, :, ::2] = 1.0
    base[y == 1, :, :, ::2] = 1.0
    base[y == 2, :, 4:8, 4:8] = 1.0
    return base + 0.3 * torch.randn_like(base), y


def test(model, x, y):
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in zip(x.split(50), y.split(50)):
            predicted = torch.max(model(xb), 1)[1]
            correct += (predicted == yb).sum().item()
    return correct / len(y)


torch.manual_seed(64)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
x_test, y_test = stripes(150)
for epoch in range(2):
    model.train()
    for _ in range(4):
        x, y = stripes(32)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 3), test(model, x_test, y_test))
