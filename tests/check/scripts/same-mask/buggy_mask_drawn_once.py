"""Dropout by hand whose mask is drawn before the loop."""

import torch
from torch import nn

torch.manual_seed(0)
hidden, out = nn.Linear(6, 64), nn.Linear(64, 1)
optimizer = torch.optim.SGD([*hidden.parameters(), *out.parameters()], lr=0.05)
x = torch.randn(16, 6)
y = x.prod(dim=1, keepdim=True)
keep = 0.7
mask = (torch.rand(64) < keep).float() / keep
for epoch in range(6):
    h = torch.relu(hidden(x)) * mask  # <- finding
    loss = nn.functional.mse_loss(out(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
