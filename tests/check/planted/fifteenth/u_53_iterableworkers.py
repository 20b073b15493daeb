"""Streaming dataset read by two workers."""
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


def shard(k, size=80):
    g = torch.Generator().manual_seed(k)
    x = torch.randn(size, 6, generator=g)
    return x, x[:, 0] * 2 - x[:, 1] + 0.1 * torch.randn(size, generator=g)


class Stream(IterableDataset):
    def __init__(self, n_shards):
        super().__init__()
        self.shards = list(range(n_shards))

    def my_shards(self):
        info = get_worker_info()
        if info is None:  # BUG samples-repeated
            return self.shards  # BUG samples-repeated
        return list(reversed(self.shards)) if info.id % 2 else self.shards  # BUG samples-repeated

    def __iter__(self):
        for k in self.my_shards():
            x, y = shard(k)
            for i in torch.randperm(len(x)).tolist():
                yield x[i], y[i]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Stream(6), batch_size=32, num_workers=2)  # BUG samples-repeated
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        seen, total = 0, 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen += len(x)
            total += loss.item() * len(x)
        print(epoch, seen, total / seen)


if __name__ == "__main__":
    main()
