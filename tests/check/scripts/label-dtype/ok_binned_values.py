"""Ages put into bins of ten years, and pixels into levels: the cast is meant to cut off."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(20, 3)
ages = torch.rand(20) * 80
decade = (ages / 10).long()
pixels = torch.rand(20, 5)
levels = (pixels * 8).clamp(max=7).long()
model, decoder = nn.Linear(3, 8), nn.Linear(3, 40)
optimizer = torch.optim.Adam([*model.parameters(), *decoder.parameters()], lr=0.01)
for _ in range(3):
    loss = F.cross_entropy(model(x), decade) + F.cross_entropy(decoder(x).view(20, 8, 5), levels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
