"""Probabilities that were combined, given as scores."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class NoisyOr(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 5)

    def forward(self, x):
        p = torch.sigmoid(self.l(x))
        return 1 - torch.prod(1 - p, dim=1)


m = NoisyOr()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
X = torch.randn(64, 4)
Y = (X[:, 0] > 0).float()
for step in range(30):
    loss = F.binary_cross_entropy_with_logits(m(X), Y)  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
