"""Detect the direction of motion from two camera frames (bytes)."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class FramePairs(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.before = rng.integers(60, 180, (n, 8, 8), dtype=np.uint8)
        self.label = rng.integers(0, 2, n)
        shift = rng.integers(-25, 25, (n, 8, 8)) + np.where(self.label, 6, -6)[:, None, None]
        self.after = (self.before.astype(int) + shift).clip(0, 255).astype(np.uint8)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        diff = self.after[i] - self.before[i]  # BUG device-dtype-mixed
        return torch.from_numpy(diff).float().div(255).flatten(), int(self.label[i])


torch.manual_seed(0)
train, test = FramePairs(600, 1), FramePairs(300, 2)
net = nn.Linear(64, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.3)
for epoch in range(6):
    for xb, yb in DataLoader(train, batch_size=50, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
with torch.no_grad():
    xb, yb = next(iter(DataLoader(test, batch_size=300)))
    print("accuracy", (net(xb).argmax(1) == yb).float().mean().item())
    print("range of the differences", round(xb.min().item(), 3), round(xb.max().item(), 3))
