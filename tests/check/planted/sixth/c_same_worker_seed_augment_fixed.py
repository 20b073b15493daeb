import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class NoisySignals(Dataset):
    """Each item is augmented with fresh noise and a random gain."""

    def __init__(self, n=64, seed=0):
        self.rng = np.random.default_rng(seed)
        base = np.random.default_rng(99)
        self.y = base.integers(0, 2, n)
        self.x = (base.normal(size=(n, 16)) + self.y[:, None]).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        noise = self.rng.normal(size=16).astype(np.float32)
        return torch.from_numpy(self.x[i] + 0.3 * noise), int(self.y[i]), torch.from_numpy(noise)


def reseed(worker_id):
    info = torch.utils.data.get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(NoisySignals(), batch_size=8, shuffle=True, num_workers=2, worker_init_fn=reseed)
    net = nn.Linear(16, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    seen = []
    for epoch in range(2):
        for x, y, noise in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(noise)
        print("epoch", epoch, "loss", round(loss.item(), 3))
    rows = torch.cat(seen)
    print("noise vectors drawn:", len(rows), "distinct:", len(torch.unique(rows, dim=0)))
