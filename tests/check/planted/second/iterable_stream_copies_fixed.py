"""Infinite synthetic stream from an IterableDataset with two workers."""
import random
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Stream(IterableDataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __iter__(self):
        info = get_worker_info()
        k = info.num_workers if info else 1
        rng = random.Random(self.seed * 100 + (info.id if info else 0))
        for _ in range(self.n // k):
            x = [rng.gauss(0, 1) for _ in range(4)]
            yield torch.tensor(x), torch.tensor([float(x[0] * x[1] > 0)])


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(3):
        for x, y in DataLoader(Stream(1600, epoch), 32, num_workers=2):
            loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print("loss", loss.item())
