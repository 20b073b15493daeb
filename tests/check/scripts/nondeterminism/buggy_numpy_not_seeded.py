"""torch is seeded, the data are split and augmented with NumPy."""

import numpy as np
import torch
from torch import nn


def augment(batch):
    return batch + torch.from_numpy(np.random.normal(0.0, 0.05, batch.shape)).float()  # <- finding


torch.manual_seed(3)
data = torch.randn(32, 5)
labels = (data.sum(dim=1) > 0).long()
order = np.arange(32)
model = nn.Linear(5, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(3):
    np.random.shuffle(order)
    for k in range(0, 32, 8):
        rows = torch.from_numpy(order[k : k + 8])
        loss = nn.functional.cross_entropy(model(augment(data[rows])), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
