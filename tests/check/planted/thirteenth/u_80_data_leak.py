import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class KFold:
    def __init__(self, n_splits, seed):
        self.n_splits, self.seed = n_splits, seed

    def split(self, n):
        order = np.random.default_rng(self.seed).permutation(n)
        folds = np.array_split(order, self.n_splits)
        for k in range(self.n_splits):
            rest = np.concatenate([f for j, f in enumerate(folds) if j != k])
            yield torch.from_numpy(rest), torch.from_numpy(folds[k])


def build():
    return nn.Sequential(nn.Linear(50, 64), nn.ReLU(), nn.Linear(64, 2))


def fit(model, x, y, epochs=12):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(20):
            optimizer.zero_grad()
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            optimizer.step()


@torch.no_grad()
def score(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(81)
    x = torch.randn(250, 50)
    y = (x[:, 0] + x[:, 1] + 1.5 * torch.randn(250) > 0).long()
    model = build()  # BUG data-leak
    scores = []
    for fold, (train_idx, val_idx) in enumerate(KFold(5, seed=1).split(len(x))):  # BUG data-leak
        fit(model, x[train_idx], y[train_idx])  # BUG data-leak
        scores.append(score(model, x[val_idx], y[val_idx]))
        print(f"fold {fold} accuracy {scores[-1]:.3f}")
    x_new = torch.randn(500, 50)
    y_new = (x_new[:, 0] + x_new[:, 1] + 1.5 * torch.randn(500) > 0).long()
    print(f"cross validation {np.mean(scores):.3f}, fresh data {score(model, x_new, y_new):.3f}")


main()
