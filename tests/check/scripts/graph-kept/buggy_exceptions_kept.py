"""Exceptions are kept, and with them the variables of the step that raised them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)

model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
problems = []


def step(x, t):
    loss = F.mse_loss(model(x), t)
    if loss.item() > 0.5:
        raise ValueError("outlier batch")
    opt.zero_grad()
    loss.backward()
    opt.step()


for epoch in range(8):
    for i in range(0, 256, 32):
        try:
            step(X[i : i + 32], T[i : i + 32])
        except ValueError as e:
            problems.append(e)  # <- finding
            loss = F.mse_loss(model(X[i : i + 32]), T[i : i + 32]) * 0.1
            opt.zero_grad()
            loss.backward()
            opt.step()
