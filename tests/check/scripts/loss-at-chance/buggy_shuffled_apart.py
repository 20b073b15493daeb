"""Inputs and labels are shuffled one after the other, each in its own order."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(256, 6)).astype("float32")
y = (x[:, 0] > 0).astype("int64")
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(20):
    rng.shuffle(x)  # <- finding
    rng.shuffle(y)
    for k in range(0, 256, 64):
        a, b = torch.from_numpy(x[k : k + 64]), torch.from_numpy(y[k : k + 64])
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
