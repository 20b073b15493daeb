import random
import numpy as np
import torch
import torch.nn as nn


def set_seed(seed):
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def load():
    g = np.random.default_rng(0)
    X = g.normal(size=(150, 5)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.3 * g.normal(size=150) > 0).astype(np.int64)
    return X, y


def experiment(seed):
    set_seed(seed)
    X, y = load()
    order = np.random.permutation(len(X))
    tr, te = order[:100], order[100:]
    Xt, yt = torch.from_numpy(X), torch.from_numpy(y)
    net = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(40):
        batches = [tr[i:i + 20] for i in range(0, 100, 20)]
        random.shuffle(batches)
        for b in batches:
            loss = nn.functional.cross_entropy(net(Xt[b]), yt[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        return nn.functional.cross_entropy(net(Xt[te]), yt[te]).item()


a, b = experiment(1), experiment(1)
print(f"test loss {a:.5f}; the same seed again {b:.5f}; reproducible: {a == b}")
