"""Colour gradient direction from small RGB arrays stored as height x width x channel."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Gradients(Dataset):
    def __init__(self, n, seed, size=10):
        rng = np.random.default_rng(seed)
        self.kind = rng.integers(0, 4, n)
        ramp = np.linspace(-1, 1, size)
        horizontal = np.broadcast_to(ramp, (size, size))
        pictures = rng.normal(scale=1.0, size=(n, size, size, 3))
        for i, kind in enumerate(self.kind):
            direction = horizontal if kind % 2 else horizontal.T
            pictures[i, :, :, 2 * (kind // 2)] += 1.0 * direction
        self.pictures = pictures.astype(np.float32)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        h, w, c = self.pictures[i].shape
        array = np.ascontiguousarray(self.pictures[i].transpose(2, 0, 1))
        return torch.from_numpy(array), int(self.kind[i])


def main():
    torch.manual_seed(0)
    train = DataLoader(Gradients(480, 0), batch_size=48, shuffle=True)
    val = DataLoader(Gradients(144, 1), batch_size=48)
    net = nn.Sequential(
        nn.Conv2d(3, 12, 5), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(108, 4)
    )
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(5):
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            hits = sum((net(x).argmax(1) == y).sum().item() for x, y in val)
        print(f"epoch {epoch} loss {loss.item():.3f} val accuracy {hits / 144:.3f}")


if __name__ == "__main__":
    main()
