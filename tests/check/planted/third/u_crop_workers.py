"""Random crops with jitter, drawn by two loader processes."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Textures(Dataset):
    def __init__(self, n, size=20, crop=12):
        rng = np.random.default_rng(1)
        self.label = rng.integers(0, 3, n)
        axis = np.arange(size)
        angle = np.array([0.0, 0.8, 1.6])[self.label][:, None, None]
        phase = axis[None, :, None] * np.cos(angle) + axis[None, None, :] * np.sin(angle)
        self.image = (np.sin(phase) + 0.3 * rng.normal(size=(n, size, size))).astype(np.float32)
        self.crop = crop
        self.rng = np.random.default_rng(0)  # BUG same-worker-seed

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        span = self.image.shape[1] - self.crop
        top, left = self.rng.integers(0, span + 1, size=2)  # BUG same-worker-seed
        noise = self.rng.normal(scale=0.3, size=(self.crop, self.crop)).astype(np.float32)  # BUG same-worker-seed
        patch = self.image[i, top:top + self.crop, left:left + self.crop]
        return torch.from_numpy(patch + noise)[None], int(self.label[i])


def main():
    torch.manual_seed(0)
    loader = DataLoader(Textures(384), batch_size=32, shuffle=True, num_workers=2)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(200, 3)
    )
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        print(f"epoch {epoch} loss {total / len(loader.dataset):.3f}")


if __name__ == "__main__":
    main()
