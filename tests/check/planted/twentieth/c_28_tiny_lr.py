"""Image regression: the angle of a bar, configured by dataclasses."""
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class OptimConfig:
    base_lr: float = 1e-3
    warmup: int = 5
    steps: int = 40
    scale_by: float = 1e-6  # BUG lr-absurd


@dataclass
class Config:
    size: int = 12
    batch: int = 32
    optim: OptimConfig = None


def bars(n, size):
    angle = torch.rand(n) * math.pi
    grid = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    distance = xx * angle.sin()[:, None, None] - yy * angle.cos()[:, None, None]
    image = torch.exp(-30 * distance ** 2)
    target = torch.stack([(2 * angle).cos(), (2 * angle).sin()], dim=1)
    return image.unsqueeze(1), target


class AngleNet(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8 * (size // 2) ** 2, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        return self.out(torch.relu(self.fc(h)))


def make_optimizer(model, config):
    rate = config.base_lr * config.scale_by  # BUG lr-absurd
    return torch.optim.Adam(model.parameters(), lr=rate)  # BUG lr-absurd


def main(config):
    torch.manual_seed(12)
    model = AngleNet(config.size)
    optimizer = make_optimizer(model, config.optim)
    criterion = nn.MSELoss()
    for step in range(config.optim.steps):
        image, target = bars(config.batch, config.size)
        loss = criterion(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, round(loss.item(), 4))


main(Config(optim=OptimConfig()))
