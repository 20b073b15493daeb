# Images with a little noise as augmentation, NumPy's new generator
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, n, augment):
        rng = np.random.default_rng(0)
        self.label = rng.integers(0, 3, n)
        self.image = rng.normal(size=(n, 8, 8)).astype(np.float32)
        self.image[np.arange(n), self.label] += 1.5
        self.augment = augment
        self.rng = np.random.default_rng(1)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        image = self.image[i]
        if self.augment:
            image = image + self.rng.normal(scale=0.3, size=image.shape).astype(np.float32)
        return torch.from_numpy(image), int(self.label[i])


torch.manual_seed(8)
loader = DataLoader(Digits(300, augment=True), batch_size=30, shuffle=True)
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
