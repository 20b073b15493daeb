import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(51)
rng = np.random.default_rng(51)


def to_tensor(image):
    """HWC bytes to CHW floats in [0, 1]."""
    return torch.from_numpy(image).permute(2, 0, 1).float().div(255)


class Digits(Dataset):
    def __init__(self, n):
        self.y = rng.integers(0, 4, n)
        self.images = rng.integers(0, 90, (n, 10, 10, 1)).astype(np.uint8)
        for i, k in enumerate(self.y):
            r, c = divmod(int(k), 2)
            self.images[i, 5 * r:5 * r + 5, 5 * c:5 * c + 5] += 70

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return to_tensor(self.images[i]), int(self.y[i])


loader = DataLoader(Digits(320), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    hits = 0
    for images, labels in loader:
        images = (images - 0.25) / 0.15
        optimizer.zero_grad()
        out = model(images)
        loss = criterion(out, labels)
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == labels).sum().item()
    print(epoch, loss.item(), hits / 320)
