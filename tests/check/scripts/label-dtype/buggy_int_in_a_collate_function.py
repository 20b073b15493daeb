"""The collate function cuts the targets to whole numbers."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
rng = np.random.default_rng(0)
data = [(torch.randn(4), rng.uniform(0, 3)) for _ in range(400)]


def collate(samples):
    xs = torch.stack([s[0] for s in samples])
    ys = torch.tensor([int(s[1]) for s in samples]).float()  # <- finding
    return xs, ys


loader = DataLoader(data, batch_size=50, shuffle=True, collate_fn=collate)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for a, b in loader:
        loss = F.mse_loss(net(a).squeeze(1), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
