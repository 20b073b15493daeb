import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(15)
torch.manual_seed(15)
table = rng.normal(size=(500, 5)).astype(np.float32)
price = (table @ np.array([2.0, -1.0, 0.5, 0.0, 1.0], dtype=np.float32)).astype(np.float32)
table[rng.random((500, 5)) < 0.03] = np.nan

complete = ~np.isnan(table).any(axis=1)
features, prices = table[complete], price[: complete.sum()]  # <- finding

x, y = torch.from_numpy(features), torch.from_numpy(prices)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for rows in torch.randperm(len(x)).split(32):
        loss = nn.functional.mse_loss(model(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 3))
