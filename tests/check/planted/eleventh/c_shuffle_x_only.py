"""Rows are shuffled in every epoch."""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
features = rng.normal(size=(120, 5)).astype("float32")
labels = features[:, :2].argmax(1)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    rng.shuffle(features)  # BUG loss-at-chance
    total = 0.0
    for i in range(0, 120, 24):
        x = torch.from_numpy(features[i : i + 24].copy())
        y = torch.from_numpy(labels[i : i + 24])
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
print("loss", round(total / 5, 3))
