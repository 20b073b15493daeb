"""Diabetes-like table: standardise, split, train."""

import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(19)
X = rng.lognormal(size=(240, 9)).astype(np.float32)
y = (X[:, :1] * 0.5 + np.log(X[:, 1:2]) + 0.1 * rng.randn(240, 1)).astype(np.float32)

order = rng.permutation(240)
train_idx, test_idx = order[:180], order[180:]
mean, std = X[train_idx].mean(axis=0), X[train_idx].std(axis=0)
X = (X - mean) / std
x_train, x_test = torch.from_numpy(X[train_idx]), torch.from_numpy(X[test_idx])
y_train, y_test = torch.from_numpy(y[train_idx]), torch.from_numpy(y[test_idx])

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    model.train()
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x_train), y_train)
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(model(x_test), y_test).item())
