"""Fine-tuning with frozen statistics: the model is in train mode, its batch norm layers are not. And a perceptual loss."""

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 3, 3, padding=1))

    def train(self, mode=True):
        super().train(mode)
        for m in self.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()
        return self

    def forward(self, x):
        return self.body(x)


torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval().requires_grad_(False)
model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.rand(4, 3, 8, 8)
for epoch in range(3):
    model.train()
    out = model(x)
    loss = nn.functional.mse_loss(features(out), features(x)) + 0.1 * (out - x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(x) - x).abs().mean().item())
