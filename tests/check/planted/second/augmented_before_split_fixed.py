"""Gesture classification with off-line augmentation."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def gestures(n):
    y = torch.randint(0, 4, (n,))
    t = torch.linspace(0, 6.28, 20)
    x = torch.stack([torch.sin(t * (1 + 0.25 * int(k)) + 6.28 * torch.rand(1)) for k in y])
    return x + 0.6 * torch.randn_like(x), y


def augment(x, y, copies=4):
    xs = [x] + [x + 0.05 * torch.randn_like(x) for _ in range(copies)]
    return torch.cat(xs), y.repeat(copies + 1)


def split(x, y, frac=0.8):
    order = torch.randperm(len(x))
    k = int(frac * len(x))
    return (x[order[:k]], y[order[:k]]), (x[order[k:]], y[order[k:]])


torch.manual_seed(0)
x, y = gestures(300)
train, val = split(x, y)
train = augment(*train)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(8):
    for xb, yb in DataLoader(TensorDataset(*train), 50, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
with torch.no_grad():
    print("val acc", (net(val[0]).argmax(1) == val[1]).float().mean().item())
