"""A training script that was written for two processes and runs in one."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def make(n):
    x = torch.randn(n, 10)
    y = (x[:, :3].sum(1) > 0).long() + (x[:, 3] > 1).long()
    return TensorDataset(x, y)


def loaders(train, valid, batch):
    sampler = DistributedSampler(train, num_replicas=2, rank=0, shuffle=True)  # <- finding
    return (
        DataLoader(train, batch_size=batch, sampler=sampler),
        DataLoader(valid, batch_size=batch),
        sampler,
    )


def main():
    torch.manual_seed(48)
    train_loader, valid_loader, sampler = loaders(make(400), make(120), 40)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in valid_loader:
                right += (model(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {right / 120:.3f}")


if __name__ == "__main__":
    main()
