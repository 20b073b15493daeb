"""Numbers and arrays are taken out for logs, metrics and sample weights; frozen features are made with the backbone outside of the
optimizer; one part is warmed up before the other is let through."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
neck, head = nn.Linear(8, 8), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*neck.parameters(), *head.parameters()], lr=0.1)
log = []
for step in range(8):
    x, y = torch.randn(24, 5), torch.randint(0, 2, (24,))
    features = neck(backbone(x).detach())
    if step < 4:
        features = features.detach()
    scores = head(features)
    each = F.cross_entropy(scores, y, reduction="none")
    hardness = torch.from_numpy(np.argsort(each.detach().numpy()).astype(np.float32))
    weight = torch.softmax(hardness / 24, dim=0)
    loss = (weight * each).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (scores.argmax(1) == y).float().mean().item()
    log.append((loss.item(), accuracy, np.linalg.norm(scores.detach().numpy())))
print(np.array(log).mean(0))
