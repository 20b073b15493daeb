"""The optimizer goes through `filter(...)`; the penalty on the same parameters is 0 in each step."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
model[0].requires_grad_(False)
trained = filter(lambda p: p.requires_grad, model.parameters())  # <- finding
optimizer = torch.optim.Adam(trained, lr=0.01)
for step in range(8):
    x = torch.randn(16, 6)
    penalty = sum(p.pow(2).sum() for p in trained)
    loss = nn.functional.mse_loss(model(x), x[:, :1]) + 0.01 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
