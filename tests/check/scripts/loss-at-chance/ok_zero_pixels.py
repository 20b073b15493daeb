"""Glyph recognition from 8-bit images."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def render(rng, n):
    labels = rng.integers(0, 4, n)
    images = rng.integers(0, 60, (n, 12, 12)).astype(np.uint8)
    for image, label in zip(images, labels):
        image[3 * label : 3 * label + 2, 2:10] = rng.integers(150, 240)
    return images, labels


class Glyphs(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        image = torch.from_numpy(image / 255).float()
        return image.unsqueeze(0), int(self.labels[index])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(8 * 36, 4)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    loader = DataLoader(Glyphs(*render(rng, 240)), batch_size=24, shuffle=True)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(4):
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch} loss {total / 240:.3f}")


if __name__ == "__main__":
    main()
