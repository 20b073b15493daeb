"""Noisy augmentation in a map-style dataset with two worker processes."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Augmented(Dataset):
    def __init__(self, n=256, seed=0):
        base = np.random.RandomState(seed)
        self.x = base.randn(n, 8).astype(np.float32)
        self.y = (self.x[:, 0] > 0).astype(np.int64)
        self.seed, self.rng = seed, None

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if self.rng is None:
            info = get_worker_info()
            self.rng = np.random.default_rng([self.seed, info.id if info else 0])
        noise = self.rng.normal(scale=0.3, size=8).astype(np.float32)
        return self.x[i] + noise, self.y[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Augmented(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(4):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
