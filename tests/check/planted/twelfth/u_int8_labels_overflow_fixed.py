"""Two hundred classes, labels stored compactly."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(57)
classes = rng.integers(0, 200, 256)
signal = np.stack([np.sin(classes * k / 40) for k in range(1, 13)], 1).astype(np.float32)
compact = classes.astype(np.int16)
data = TensorDataset(torch.from_numpy(signal), torch.from_numpy(compact))

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 200))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=64, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y.long())
        loss.backward()
        opt.step()
print(loss.item())
