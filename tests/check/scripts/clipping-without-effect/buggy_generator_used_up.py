"""The optimizer has gone over the parameters before: the generator gives nothing more."""

import warnings

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
warnings.simplefilter("ignore")  # PyTorch warns of it, once
weights = model.parameters()
optimizer = torch.optim.SGD(weights, lr=0.05)
for step in range(8):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(weights, max_norm=1.0)  # <- finding
    optimizer.step()
print(loss.item())
