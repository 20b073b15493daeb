"""A convolutional classifier of stripes."""

import torch
from torch import nn


def make(n, size=10):
    kind = torch.randint(0, 3, (n,))
    grid = torch.arange(size).float()
    rows = torch.sin(grid)[:, None].expand(size, size)
    images = torch.stack([[rows, rows.T, (rows + rows.T) / 2][k] for k in kind.tolist()])
    return images[:, None] + 0.5 * torch.randn(n, 1, size, size), kind


class Stripes(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(
            nn.Linear(6 * 16, 32),
            nn.ReLU(),
            nn.Linear(32, 3),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


torch.manual_seed(0)
model = Stripes()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
for step in range(30):
    x, y = make(32)
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
print("loss", round(loss.item(), 3))
