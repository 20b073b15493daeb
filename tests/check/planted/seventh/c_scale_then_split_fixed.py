# Small-sample spectroscopy: choose the informative wavelengths, then classify
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(4)
torch.manual_seed(4)
spectra = rng.normal(size=(90, 2000)).astype(np.float32)
kind = rng.integers(0, 2, size=90)  # (a null data set: nothing to be learned)


def best_wavelengths(x, y, k=30):
    diff = x[y == 1].mean(0) - x[y == 0].mean(0)
    return np.argsort(-np.abs(diff / x.std(0)))[:k]


train, test = np.arange(0, 60), np.arange(60, 90)
cols = best_wavelengths(spectra[train], kind[train])
mean, std = spectra[train].mean(0), spectra[train].std(0)
spectra = ((spectra - mean) / std)[:, cols]

x_train, y_train = torch.from_numpy(spectra[train]), torch.from_numpy(kind[train])
x_test, y_test = torch.from_numpy(spectra[test]), torch.from_numpy(kind[test])
clf = nn.Linear(30, 2)
opt = torch.optim.SGD(clf.parameters(), lr=0.1, weight_decay=1e-2)
for step in range(150):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(clf(x_train), y_train)
    loss.backward()
    opt.step()
with torch.no_grad():
    acc = (clf(x_test).argmax(1) == y_test).float().mean().item()
print(f"train loss {loss.item():.3f}; test accuracy {acc:.3f} (chance is 0.5)")
