"""House prices: weighted squared error, recent sales count more."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sales(Dataset):
    def __init__(self, n=800, seed=0):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(n, 6)).astype("float32")
        self.age = rng.uniform(0, 5, size=n).astype("float32")
        self.price = (self.x @ np.array([3, 1, 0, -2, 0.5, 1]) + 0.2 * rng.normal(size=n)).astype("float32")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.price[i], np.exp(-self.age[i] / 3)


class PriceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)  # BUG mutual-broadcast


def weighted_mse(pred, target, weight):
    err = (pred - target) ** 2  # BUG mutual-broadcast
    return (err * weight).mean()  # BUG mutual-broadcast


torch.manual_seed(0)
loader = DataLoader(Sales(), batch_size=64, shuffle=True)
model = PriceModel()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    total = 0.0
    for x, y, w in loader:
        opt.zero_grad()
        loss = weighted_mse(model(x), y, w)  # BUG mutual-broadcast
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(loader):.4f}")
