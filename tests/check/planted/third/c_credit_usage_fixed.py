import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(0)
torch.manual_seed(0)

# predict which fraction of the credit line a client will use next month
features = rng.normal(size=(700, 7))
raw = 1.5 * features[:, 0] - features[:, 1] + 0.5 * features[:, 2] ** 2
usage = 1.0 / (1.0 + np.exp(-raw))

X = torch.tensor(features, dtype=torch.float32)
y = torch.tensor(usage, dtype=torch.float32)

loader = DataLoader(TensorDataset(X[:560], y[:560]), batch_size=56, shuffle=True)
net = nn.Sequential(nn.Linear(7, 32), nn.Tanh(), nn.Linear(32, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()

for epoch in range(12):
    for xb, yb in loader:
        pred = net(xb).squeeze(1)
        loss = mse(pred, yb.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} mse {loss.item():.5f}")

with torch.no_grad():
    error = (net(X[560:]).squeeze(1).numpy() - usage[560:])
print("held-out rmse", float(np.sqrt((error ** 2).mean())))
