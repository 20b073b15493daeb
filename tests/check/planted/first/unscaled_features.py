"""Energy consumption regression from building features."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def buildings(n):
    area = 20000 + 15000 * torch.rand(n)
    floors = torch.randint(1, 30, (n,)).float()
    year = 1950 + 70 * torch.rand(n)
    x = torch.stack([area, floors, year], 1)
    y = area / 10000 + 0.05 * floors - 0.01 * (year - 1950)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = buildings(1000)  # BUG dead-units
    train = DataLoader(TensorDataset(x[:800], y[:800]), 40, shuffle=True)
    net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))  # BUG dead-units
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)  # BUG dead-units
    for epoch in range(10):
        for xb, yb in train:
            loss = nn.functional.l1_loss(net(xb).squeeze(1), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        print("val MAE", (net(x[800:]).squeeze(1) - y[800:]).abs().mean().item())


main()
