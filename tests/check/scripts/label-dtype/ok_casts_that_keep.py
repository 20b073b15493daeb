"""Casts that lose nothing: whole floats to class numbers, small numbers in eight bits, 0/1 to floats."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(20, 3)
from_file = np.arange(20, dtype=np.float64) % 4
y = torch.from_numpy(from_file).long()
small = y.to(torch.uint8)
multi = F.one_hot(y, 4)
model = nn.Linear(3, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    out = model(x)
    loss = F.cross_entropy(out, y) + F.nll_loss(out.log_softmax(1), small) + F.cross_entropy(out, multi.float())
    loss = loss + F.binary_cross_entropy_with_logits(out, multi.to(out.dtype)) + F.mse_loss(out[:, 0], y.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
