"""The mask that evaluation needs is used in a term of the loss."""

import torch
from torch import nn
from torch.nn import functional as F


def mask_of(scores):
    return (scores.sigmoid() > 0.5).float()


def overlap_loss(scores, wanted):
    mask = mask_of(scores)  # <- finding
    return 1 - (2 * (mask * wanted).sum() + 1) / (mask.sum() + wanted.sum() + 1)


torch.manual_seed(0)
wanted = (torch.rand(60, 1, 6, 6) > 0.5).float()
images = wanted + 0.5 * torch.randn(60, 1, 6, 6)
model = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for rows in torch.randperm(60).split(20):
        scores = model(images[rows])
        loss = F.binary_cross_entropy_with_logits(scores, wanted[rows])
        loss = loss + overlap_loss(scores, wanted[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, (mask_of(model(images)) == wanted).float().mean().item())
