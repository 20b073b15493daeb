"""Classify stripes by their colour channel and orientation; images come as H x W x C."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    """Label 1 when the red stripe is vertical, 0 when it is horizontal."""

    def __init__(self, n, seed, size=12):
        rng = np.random.default_rng(seed)
        self.img = rng.normal(0, 0.6, (n, size, size, 3)).astype(np.float32)
        self.y = rng.integers(0, 2, n)
        for im, label in zip(self.img, self.y):
            r, g = rng.integers(0, size, 2)
            if label:
                im[:, r, 0] += 1
                im[g, :, 1] += 1
            else:
                im[r, :, 0] += 1
                im[:, g, 1] += 1

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        im = self.img[i]
        h, w, c = im.shape
        chw = np.ascontiguousarray(im.reshape(c, h, w))  # BUG reshape-not-transpose
        return torch.from_numpy(chw), int(self.y[i])


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 12, 5), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(12, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    for xb, yb in DataLoader(Stripes(500, 1), batch_size=50, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
with torch.no_grad():
    xb, yb = next(iter(DataLoader(Stripes(300, 2), batch_size=300)))
    print("accuracy", round((net(xb).argmax(1) == yb).float().mean().item(), 3))
