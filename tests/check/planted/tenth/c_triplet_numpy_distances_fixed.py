"""Metric learning with hardest negatives in the batch."""

import numpy as np
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 6))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return nn.functional.normalize(self.body(x), dim=1) * self.scale


def hardest(emb, labels, margin=0.4):
    dist = (emb[:, None] - emb[None]).pow(2).sum(-1).clamp_min(1e-8).sqrt()
    same = labels[:, None] == labels[None]
    pos = torch.where(same, dist, torch.full_like(dist, -1.0)).amax(1)
    neg = torch.where(same, torch.full_like(dist, 9.0), dist).amin(1)
    return (pos - neg + margin).clamp_min(0.0)


torch.manual_seed(0)
centers = torch.randn(5, 8)
model = Encoder()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(25):
    labels = torch.randint(0, 5, (40,))
    x = centers[labels] + 0.8 * torch.randn(40, 8)
    emb = model(x)
    loss = hardest(emb, labels).mean() + 1e-3 * model.scale.pow(2)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("triplet loss", round(float(loss), 3))
