"""The weight of a focal loss made of a score in the place of a probability."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def focal(logits, target, gamma=2.0):
    ce = F.cross_entropy(logits, target, reduction="none")
    pt = logits.gather(1, target[:, None]).squeeze(1)  # <- finding
    return ((1 - pt) ** gamma * ce).mean()


model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
X = torch.randn(128, 6)
Y = X[:, :4].argmax(1)
for step in range(40):
    loss = focal(model(X), Y)
    opt.zero_grad()
    loss.backward()
    opt.step()
