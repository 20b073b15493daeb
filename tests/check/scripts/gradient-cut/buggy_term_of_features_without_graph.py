"""Super resolution with a pixel loss and a loss of features of a fixed network."""

import torch
import torch.nn.functional as F
from torch import nn


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
        for p in self.parameters():
            p.requires_grad_(False)

    @torch.no_grad()  # <- finding
    def forward(self, x):
        return self.net(x)


class Upscale(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.ConvTranspose2d(1, 8, 4, stride=2, padding=1)
        self.out = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x):
        return self.out(F.relu(self.up(x)))


torch.manual_seed(1)
features, model = Features(), Upscale()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
images = torch.rand(24, 1, 12, 12)
for epoch in range(4):
    for batch in images.split(8):
        small = F.avg_pool2d(batch, 2)
        made = model(small)
        perceptual = F.mse_loss(features(made), features(batch))
        loss = 0.1 * F.l1_loss(made, batch) + perceptual
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("perceptual", round(perceptual.item(), 4), perceptual.requires_grad)
