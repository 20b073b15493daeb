"""Inputs in another order than their targets."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
X = torch.randn(300, 5)
W = torch.randn(5, 1)
Y = X @ W
perm = torch.randperm(300)
data = torch.utils.data.TensorDataset(X[perm], Y)  # <- finding
m = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(m.parameters(), lr=0.02)
for ep in range(15):
    for x, y in torch.utils.data.DataLoader(data, batch_size=50, shuffle=True):
        loss = F.mse_loss(m(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
