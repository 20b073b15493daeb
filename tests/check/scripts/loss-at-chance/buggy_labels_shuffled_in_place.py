"""The labels are shuffled for a baseline, and they are the memory of the tensor."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
features = rng.normal(size=(500, 8)).astype(np.float32)
labels = (features[:, 0] - features[:, 3] > 0).astype(np.int64)

x, y = torch.from_numpy(features), torch.from_numpy(labels)


def majority_and_permuted(lab):
    """Accuracy of two trivial guessers."""
    majority = np.bincount(lab).max() / len(lab)
    shuffled, truth = lab, lab.copy()
    rng.shuffle(shuffled)  # <- finding
    return majority, (shuffled == truth).mean()


maj, perm = majority_and_permuted(labels)
print(f"majority {maj:.3f} permuted {perm:.3f}")

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    for idx in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch} loss {loss.item():.3f}")
with torch.no_grad():
    acc = (net(x[400:]).argmax(1) == y[400:]).float().mean().item()
print("held-out accuracy", round(acc, 3))
