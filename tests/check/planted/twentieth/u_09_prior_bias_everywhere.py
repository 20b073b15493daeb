"""Center-point detection with a focal-style prior on the bias."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self, width=12, prior=0.01):
        super().__init__()
        self.tower = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(),
        )
        self.cls = nn.Conv2d(width, 1, 1)
        self.box = nn.Conv2d(width, 2, 1)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.normal_(m.weight, std=0.05)
                nn.init.constant_(m.bias, -math.log((1 - prior) / prior))  # BUG dead-units

    def forward(self, x):
        h = self.tower(x)
        return self.cls(h), self.box(h)


def focal(logits, heat, gamma=2.0, alpha=0.75):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, heat, reduction="none")
    pt = p * heat + (1 - p) * (1 - heat)
    weight = alpha * heat + (1 - alpha) * (1 - heat)
    return (weight * (1 - pt) ** gamma * ce).sum() / heat.sum().clamp(min=1)


def scenes(n, size=12):
    image = 0.1 * torch.randn(n, 1, size, size)
    heat = torch.zeros(n, 1, size, size)
    shape = torch.zeros(n, 2)
    for k in range(n):
        h, w = torch.randint(2, 5, (2,)).tolist()
        y, x = torch.randint(0, size - 5, (2,)).tolist()
        image[k, 0, y:y + h, x:x + w] += 1
        heat[k, 0, y + h // 2, x + w // 2] = 1
        shape[k] = torch.tensor([h / 4, w / 4])
    return image, heat, shape


torch.manual_seed(0)
detector = Detector()
optimizer = torch.optim.Adam(detector.parameters(), lr=2e-3)
for step in range(20):
    image, heat, shape = scenes(16)
    logits, sizes = detector(image)
    at = (sizes * heat).sum((2, 3))
    loss = focal(logits, heat) + 0.1 * F.l1_loss(at, shape)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
