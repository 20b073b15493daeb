import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class JitteredPoints(Dataset):
    """Few base points, endlessly jittered."""

    def __init__(self, n, seed):
        self.base = np.random.default_rng(seed).uniform(-1, 1, (n, 2)).astype(np.float32)
        self.rng = None

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        if self.rng is None:
            self.rng = np.random.default_rng(torch.initial_seed() % 2**63)
        jitter = self.rng.normal(0, 0.3, 2).astype(np.float32)
        x = self.base[i] + jitter
        y = np.float32(np.sin(3 * x[0]) * x[1])
        return torch.from_numpy(x), torch.tensor(y), torch.from_numpy(jitter)


def main():
    torch.manual_seed(0)
    data = JitteredPoints(120, 3)
    loader = DataLoader(data, batch_size=15, shuffle=True, num_workers=2)
    grid = torch.rand(400, 2) * 2.4 - 1.2
    target = torch.sin(3 * grid[:, 0]) * grid[:, 1]
    model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    seen, total = set(), 0
    for epoch in range(8):
        model.train()
        for x, y, jitter in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x).squeeze(1), y).backward()
            optimizer.step()
            seen.update(map(tuple, jitter.tolist()))
            total += len(x)
    model.eval()
    with torch.no_grad():
        error = F.mse_loss(model(grid).squeeze(1), target).item()
    print(f"test mse {error:.4f}; {len(seen)} different jitters in {total} samples")


if __name__ == "__main__":
    main()
