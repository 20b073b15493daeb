import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def paint(n, seed, size=12):
    """A coloured square in noise; the class is its colour channel and its shape."""
    rng = np.random.default_rng(seed)
    images = rng.normal(0, 0.5, (n, size, size, 3)).astype(np.float32)
    labels = rng.integers(0, 6, n)
    for i, label in enumerate(labels):
        top, left = rng.integers(0, size - 6, 2)
        h, w = (6, 2) if label >= 3 else (2, 6)
        images[i, top : top + h, left : left + w, label % 3] += 1.0
    return images, labels


def to_batch(images):
    x = torch.from_numpy(images)
    n, h, w, c = x.shape
    return x.permute(0, 3, 1, 2).contiguous()


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24, 6)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x)).amax(dim=(2, 3))
        return self.fc(x)


def main():
    torch.manual_seed(33)
    images, labels = paint(700, seed=1)
    x, y = to_batch(images), torch.from_numpy(labels)
    x_train, y_train, x_test, y_test = x[:550], y[:550], x[550:], y[550:]
    model = ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(550).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc:.3f}")


main()
