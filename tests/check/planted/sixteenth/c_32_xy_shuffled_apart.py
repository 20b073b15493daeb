import numpy as np
import torch
from torch import nn


def load(n=500):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 7)).astype("float32")
    y = (x[:, 0] - 2 * x[:, 2] > 0).astype("int64")
    return x, y


def shuffle_arrays(x, y, seed=42):
    rng = np.random.default_rng(seed)
    x = x[rng.permutation(len(x))]  # BUG misaligned-shuffle|xy-misaligned|loss-at-chance
    y = y[rng.permutation(len(y))]  # BUG misaligned-shuffle|xy-misaligned|loss-at-chance
    return x, y


x, y = shuffle_arrays(*load())
n_train = int(len(x) * 0.8)
xt, yt = torch.tensor(x[:n_train]), torch.tensor(y[:n_train])
xv, yv = torch.tensor(x[n_train:]), torch.tensor(y[n_train:])

torch.manual_seed(0)
clf = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(clf.parameters(), lr=5e-3)
for epoch in range(10):
    clf.train()
    perm = torch.randperm(n_train)
    for i in range(0, n_train, 40):
        idx = perm[i:i + 40]
        loss = nn.functional.cross_entropy(clf(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    clf.eval()
    with torch.no_grad():
        acc = (clf(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {acc:.3f}")
