"""Batches of one with normalisation that does not need a batch: group, instance and layer norm, batch norm without statistics kept."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1),
    nn.InstanceNorm2d(4, affine=True),
    nn.ReLU(),
    nn.Conv2d(4, 4, 3, padding=1),
    nn.GroupNorm(2, 4),
    nn.ReLU(),
    nn.Conv2d(4, 4, 3, padding=1),
    nn.BatchNorm2d(4, track_running_stats=False),
    nn.LeakyReLU(0.2),
    nn.Conv2d(4, 1, 1),
)
optimizer = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
pairs = [(image, image.flip(-1)) for image in torch.rand(4, 1, 1, 8, 8)]
for source, wanted in pairs:
    loss = nn.functional.l1_loss(G(source), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
