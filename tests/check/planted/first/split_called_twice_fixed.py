"""Iris-like classification with a get_loader helper for each split."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)


def make_dataset(n=300):
    y = torch.arange(n) % 3
    centers = torch.tensor([[0., 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]])
    return TensorDataset(centers[y] + 0.5 * torch.randn(n, 4), y)


def get_loader(ds, split, frac=0.8):
    n = int(len(ds) * frac)
    order = torch.randperm(len(ds), generator=torch.Generator().manual_seed(7)).tolist()
    if split == "train":
        return DataLoader(Subset(ds, order[:n]), batch_size=24, shuffle=True)
    return DataLoader(Subset(ds, order[n:]), batch_size=60)


def step(net, opt, xb, yb):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()


ds = make_dataset()
train_loader = get_loader(ds, "train")
val_loader = get_loader(ds, "val")
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(12):
    for xb, yb in train_loader:
        last = step(net, opt, xb, yb)
correct = 0
with torch.no_grad():
    for xb, yb in val_loader:
        correct += (net(xb).argmax(1) == yb).sum().item()
print(f"train loss {last:.3f} val acc {correct / len(val_loader.dataset):.3f}")
