"""Axes exchanged by transpose and permute, whose results are then viewed; a flat file read as a table; a generator's image."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
flat = torch.from_numpy(np.random.RandomState(0).randn(4 * 6 * 6 * 3).astype(np.float32))
images = flat.view(4, 6, 6, 3).permute(0, 3, 1, 2).contiguous()
grid = torch.arange(12.0).view(3, 4).reshape(4, 3)
conv, lstm, fc = nn.Conv2d(3, 2, 1), nn.LSTM(2, 5, bidirectional=True), nn.Linear(10, 3)
generator = nn.Linear(7, 3 * 6 * 6)
optimizer = torch.optim.Adam([*conv.parameters(), *lstm.parameters(), *fc.parameters(), *generator.parameters()], lr=0.01)
y = torch.randint(0, 3, (4,))
for _ in range(3):
    sequence = conv(images).flatten(2).permute(2, 0, 1)
    _, (h, _) = lstm(sequence)
    out = fc(h.transpose(0, 1).reshape(4, -1))
    fake = generator(torch.randn(4, 7)).view(-1, 3, 6, 6)
    loss = F.cross_entropy(out, y) + F.mse_loss(fake, images) + 0 * grid.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
