"""Byte images are centered before they become floats, and `~` inverts a mask of 0 and 1."""

import torch
from torch import nn

torch.manual_seed(0)
images = torch.randint(0, 256, (64, 6), dtype=torch.uint8)
keep = (torch.rand(64, 6) > 0.2).to(torch.uint8)
centred = images - 128  # <- finding
dropped = ~keep  # <- finding
x = centred.float() / 128 * (dropped == 0).float()
y = (images.float().mean(1, keepdim=True) > 128).float()
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
