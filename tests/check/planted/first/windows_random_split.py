"""Predict the next hour of a load curve from sliding windows."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


class Windows(Dataset):
    def __init__(self, series, w=24):
        self.s, self.w = series, w

    def __len__(self):
        return len(self.s) - self.w

    def __getitem__(self, i):
        return self.s[i:i + self.w], self.s[i + self.w]


def load_curve(n=800):
    t = torch.arange(n, dtype=torch.float32)
    walk = torch.randn(n).cumsum(0) * 0.05
    return torch.sin(t * 0.26) + walk + 0.1 * torch.randn(n)


def split(ds, frac=0.8):
    n = int(frac * len(ds))
    order = torch.randperm(len(ds)).tolist()  # BUG data-leak
    return Subset(ds, order[:n]), Subset(ds, order[n:])  # BUG data-leak


def main():
    torch.manual_seed(0)
    train, val = split(Windows(load_curve()))
    net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(8):
        for x, y in DataLoader(train, 32, shuffle=True):
            loss = nn.functional.mse_loss(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    se = n = 0
    with torch.no_grad():
        for x, y in DataLoader(val, 64):
            se += (net(x).squeeze(1) - y).pow(2).sum().item()
            n += len(y)
    print(f"val mse {se / n:.4f} on {n} windows")


main()
