"""Two conditions, each with a draw of its own."""

import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
scans = torch.zeros(64, 1, 8, 8)
scans[:, :, 2:5, :3] = 1
masks = scans.clone()
scans += 0.3 * torch.randn_like(scans)


def augment(image, mask):
    if random.random() < 0.5:
        image = torch.flip(image, [-1])
    if random.random() < 0.5:  # <- finding
        mask = torch.flip(mask, [-1])
    return image, mask


net = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(6):
    pairs = [augment(scans[k], masks[k]) for k in torch.randint(0, 64, (8,)).tolist()]
    image, mask = (torch.stack(part) for part in zip(*pairs))
    loss = nn.functional.binary_cross_entropy_with_logits(net(image), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
