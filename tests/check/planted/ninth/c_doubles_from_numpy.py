# Wine data read by NumPy
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(22)
torch.manual_seed(22)
table = rng.normal(size=(178, 13))
quality = (table[:, 0] + table[:, 5] > 0).astype(np.int64)
X = torch.from_numpy(table)  # BUG device-dtype-mixed
y = torch.from_numpy(quality)
model = nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(X), y)
    loss.backward()
    optimizer.step()
print(loss.item())
