"""The loss of Dice takes probabilities, and the scores are handed to it as they are."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Seg(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.c2 = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        return self.c2(F.relu(self.c1(x)))


def dice_loss(pred, target, eps=1.0):
    p, t = pred.flatten(1), target.flatten(1)
    inter = (p * t).sum(1)
    return 1 - ((2 * inter + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


model = Seg()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
X = torch.randn(32, 1, 8, 8)
Y = (X > 0.5).float()
for step in range(40):
    loss = dice_loss(model(X), Y)  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
