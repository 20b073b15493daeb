import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)
rng = np.random.default_rng(11)


class Photos(Dataset):
    """Images as an array of (N, H, W, 3), as image readers give them."""

    def __init__(self, n):
        self.labels = rng.integers(0, 3, n)
        self.images = rng.integers(0, 120, (n, 12, 12, 3)).astype(np.uint8)
        for i, label in enumerate(self.labels):
            r = rng.integers(0, 8)
            self.images[i, r:r + 4, r:r + 4, label] += 100

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float() / 255
        image = image.reshape(3, 12, 12)  # BUG reshape-not-transpose
        return image - 0.3, int(self.labels[i])


net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(16, 3),
)
loader = DataLoader(Photos(400), batch_size=40, shuffle=True)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    hits = 0
    for images, labels in loader:
        optimizer.zero_grad()
        out = net(images)
        loss = criterion(out, labels)
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == labels).sum().item()
    print(epoch, loss.item(), hits / 400)
