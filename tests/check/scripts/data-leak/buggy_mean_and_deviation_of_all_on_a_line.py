"""Train on a table: standardise it, its mean and deviation, split it."""
import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(1)
X = rng.lognormal(size=(240, 9)).astype(np.float32)
y = (X[:, :1] * 0.5 + np.log(X[:, 1:2])).astype(np.float32)
mean, std = X.mean(axis=0), X.std(axis=0)  # <- finding
X = (X - mean) / std
x_train, x_test = torch.from_numpy(X[:180]), torch.from_numpy(X[180:])
y_train, y_test = torch.from_numpy(y[:180]), torch.from_numpy(y[180:])
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x_train), y_train)
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(model(x_test), y_test).item())
