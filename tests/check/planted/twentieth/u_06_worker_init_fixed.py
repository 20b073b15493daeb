"""Two workers that augment point clouds with NumPy."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Clouds(Dataset):
    def __init__(self, n, points=16):
        self.n, self.points = n, points
        rng = np.random.default_rng(0)
        self.label = rng.integers(0, 2, n)
        self.cloud = rng.normal(size=(n, points, 3)).astype(np.float32)
        self.cloud[self.label == 1, :, 2] *= 0.1

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        jitter = np.random.normal(0, 0.05, size=(self.points, 3)).astype(np.float32)
        return torch.from_numpy(self.cloud[i] + jitter), int(self.label[i])


def worker_init(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 24))
        self.head = nn.Linear(24, 2)

    def forward(self, cloud):
        return self.head(self.point(cloud).max(dim=1).values)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Clouds(96), batch_size=16, shuffle=True, num_workers=2, worker_init_fn=worker_init)
    model = PointNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(2):
        for cloud, label in loader:
            optimizer.zero_grad()
            loss = criterion(model(cloud), label)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
