import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SEED = 42


def seed_worker(worker_id):
    np.random.seed(torch.initial_seed() % 2 ** 32)


class Accelerometer(Dataset):
    """Activity recognition; every access turns and scales the window at random."""

    def __init__(self, n):
        self.activity = np.random.randint(0, 3, n)
        t = np.arange(30)
        speed = np.array([0.3, 0.8, 1.5])[self.activity]
        self.signal = np.sin(speed[:, None] * t + np.random.uniform(0, 6, (n, 1)))

    def __len__(self):
        return len(self.activity)

    def __getitem__(self, i):
        scale = np.random.uniform(0.6, 1.4)
        noise = np.random.normal(scale=0.4, size=30)
        window = scale * np.roll(self.signal[i], np.random.randint(30)) + noise
        return torch.from_numpy(window).float(), int(self.activity[i])


if __name__ == "__main__":
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    loader = DataLoader(
        Accelerometer(384), batch_size=32, shuffle=True,
        num_workers=2, worker_init_fn=seed_worker,
    )
    net = nn.Sequential(
        nn.Unflatten(1, (1, 30)), nn.Conv1d(1, 12, 7), nn.GELU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(48, 3),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(3):
        total, correct = 0.0, 0
        for x, y in loader:
            out = net(x)
            loss = loss_fn(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {total / 384:.3f} accuracy {correct / 384:.3f}")
