"""Protein-like sequences: composition features, random split, early stopping by patience."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def dataset(n):
    residues = torch.randint(0, 20, (n, 40))
    counts = nn.functional.one_hot(residues, 20).sum(1).float()
    charge = torch.linspace(-1, 1, 20)
    stability = counts @ charge / 4 + 0.5 * torch.randn(n)
    return TensorDataset((counts - 2) / 1.4, stability)


def subset(data, part, batch_size):
    n_val = len(data) // 5
    parts = random_split(data, [len(data) - n_val, n_val])  # BUG data-leak
    index = {"train": 0, "val": 1}[part]
    return DataLoader(parts[index], batch_size, shuffle=part == "train")


def mean_loss(model, loader):
    with torch.no_grad():
        sums = [nn.functional.mse_loss(model(x).squeeze(1), y, reduction="sum") for x, y in loader]
    return (sum(sums) / len(loader.dataset)).item()


torch.manual_seed(0)
data = dataset(500)
train_loader = subset(data, "train", 40)
val_loader = subset(data, "val", 50)
model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
best, best_state, patience = float("inf"), None, 3

for epoch in range(15):
    for x, y in train_loader:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    val = mean_loss(model, val_loader)
    if val < best:
        best, best_state, patience = val, copy.deepcopy(model.state_dict()), 3
    else:
        patience -= 1
    if patience == 0:
        break
    if epoch % 3 == 0:
        print(f"epoch {epoch} val mse {val:.4f}")
model.load_state_dict(best_state)
print("best val mse", best)
