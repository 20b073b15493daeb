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
    e = emb.detach().numpy()  # BUG gradient-cut
    dist = np.sqrt(((e[:, None] - e[None]) ** 2).sum(-1))
    same = labels[:, None] == labels[None]
    same = same.numpy()
    pos = np.where(same, dist, -1.0).max(1)
    neg = np.where(same, 9.0, dist).min(1)
    return torch.from_numpy(np.maximum(pos - neg + margin, 0.0))


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
