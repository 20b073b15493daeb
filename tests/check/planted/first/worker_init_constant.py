"""Random crops of a long signal, drawn with NumPy in the workers."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __init__(self, n=256, length=500, width=24):
        t = np.arange(length)
        self.signals = np.stack([np.sin(t / 3), 0.8 + np.sin(t / 3)]).astype(np.float32)
        self.n, self.width = n, width

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        label = i % 2
        s = np.random.randint(0, self.signals.shape[1] - self.width)
        x = self.signals[label, s:s + self.width] + 0.2 * np.random.randn(self.width).astype(np.float32)
        return x.astype(np.float32), label


def seed_worker(worker_id):
    np.random.seed(42)  # BUG same-worker-seed


if __name__ == "__main__":
    torch.manual_seed(42)
    loader = DataLoader(Crops(), batch_size=32, shuffle=True, num_workers=2,
                        worker_init_fn=seed_worker, persistent_workers=True)
    net = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(5):
        hit = n = 0
        for x, y in loader:
            out = net(x)
            loss = nn.functional.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hit, n = hit + (out.argmax(1) == y).sum().item(), n + len(y)
    print("training accuracy of the last epoch", hit / n)
