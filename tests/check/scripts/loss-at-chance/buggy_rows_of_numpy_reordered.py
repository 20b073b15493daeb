import numpy as np
import torch
from torch import nn


def load(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 300)
    x = rng.normal(size=(300, 6)) + 1.5 * y[:, None]
    order = rng.permutation(300)
    return x[order].astype(np.float32), y  # <- finding


x, y = map(torch.from_numpy, load(1))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(8):
    for i in range(0, 300, 30):
        loss = nn.functional.cross_entropy(model(x[i : i + 30]), y[i : i + 30])
        opt.zero_grad()
        loss.backward()
        opt.step()
