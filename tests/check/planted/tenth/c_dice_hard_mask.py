"""Segmentation of blobs with cross entropy and dice."""

import torch
from torch import nn


def dice_loss(logits, target, eps=1.0):
    pred = (torch.sigmoid(logits) > 0.5).float()  # BUG gradient-cut
    overlap = (pred * target).sum(dim=(1, 2, 3))
    total = pred.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return 1 - ((2 * overlap + eps) / (total + eps)).mean()


def blobs(n):
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    cx, cy = torch.rand(n, 1, 1) * 10 + 3, torch.rand(n, 1, 1) * 10 + 3
    mask = (((xx - cx) ** 2 + (yy - cy) ** 2) < 9).float()[:, None]
    return mask + 0.3 * torch.randn_like(mask), mask


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for it in range(20):
    x, mask = blobs(8)
    logits = net(x)
    loss = 0.05 * bce(logits, mask) + dice_loss(logits, mask)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print("dice", round(dice_loss(net(x), mask).item(), 3))
