import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class ColorPatches(Dataset):
    """HWC uint8 images, the class is the dominant channel in the patch centre."""

    def __init__(self, n=300, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, n)
        self.images = rng.integers(0, 120, (n, 12, 12, 3)).astype(np.uint8)
        for img, lab in zip(self.images, self.labels):
            r, c = rng.integers(0, 8, 2)
            img[r:r + 4, c:c + 4, lab] += 50

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, idx):
        img = torch.from_numpy(self.images[idx]).float() / 255.0
        img = img.reshape(3, 12, 12)  # BUG reshape-permute|axis-order|reshape-not-transpose
        return img, int(self.labels[idx])


torch.manual_seed(0)
train_dl = DataLoader(ColorPatches(), batch_size=30, shuffle=True)
net = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3),
)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(10):
    hit, tot = 0, 0.0
    for img, lab in train_dl:
        logits = net(img)
        loss = nn.functional.cross_entropy(logits, lab)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hit += (logits.argmax(1) == lab).sum().item()
        tot += loss.item()
    print(f"epoch {epoch} loss {tot / len(train_dl):.4f} acc {hit / 300:.3f}")
