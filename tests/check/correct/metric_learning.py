"""Pairs and triplets: distance matrices, a temperature as parameter, masks of equal labels, hard examples."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
labels = torch.arange(24) % 4
data = F.one_hot(labels, 4).float() @ torch.randn(4, 10) + 0.5 * torch.randn(24, 10)
net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 6))
temperature = nn.Parameter(torch.tensor(0.5))
optimizer = torch.optim.Adam([{"params": net.parameters()}, {"params": [temperature], "lr": 1e-2}], lr=3e-3)
same = labels.unsqueeze(0) == labels.unsqueeze(1)
eye = torch.eye(24, dtype=torch.bool)
for step in range(10):
    z = F.normalize(net(data), dim=1)
    distances = (z.unsqueeze(1) - z.unsqueeze(0)).pow(2).sum(-1)
    squares = z.pow(2).sum(dim=1, keepdim=True)
    other = squares + squares.t() - 2 * z @ z.t()
    positive = distances.masked_fill(~same, -1.0).max(dim=1).values
    negative = distances.masked_fill(same, 10.0).min(dim=1).values
    triplet = F.relu(positive - negative + 0.2).mean()
    logits = (z @ z.t() / temperature.clamp(min=0.05)).masked_fill(eye, -1e9)
    log_p = F.log_softmax(logits, dim=1)
    contrastive = -(log_p * (same & ~eye)).sum(1).div((same & ~eye).sum(1)).mean()
    loss = triplet + contrastive + 1e-3 * other.clamp(min=0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
