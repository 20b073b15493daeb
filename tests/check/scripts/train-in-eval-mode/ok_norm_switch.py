"""Convolutional texture net; the class can keep its normalisation fixed for fine-tuning."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TextureNet(nn.Module):
    def __init__(self, classes=4, fixed_norm=True):
        super().__init__()
        self.fixed_norm = fixed_norm
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16 * 9, classes)

    def train(self, mode=True):
        super().train(mode)
        if self.fixed_norm:
            self.norm1.eval()
            self.norm2.eval()
        return self

    def forward(self, x):
        x = F.avg_pool2d(F.gelu(self.norm1(self.conv1(x))), 2)
        x = F.avg_pool2d(F.gelu(self.norm2(self.conv2(x))), 2)
        return self.fc(x.flatten(1))


def textures(n):
    y = torch.randint(0, 4, (n,))
    base = 20 + 6 * torch.randn(n, 1, 12, 12)
    base[y == 1, :, ::2] += 5
    base[y == 2, :, :, ::2] += 5
    base[y == 3, :, ::2, ::2] += 8
    return base, y


torch.manual_seed(0)
x, y = textures(512)
x_val, y_val = textures(128)
net = TextureNet(fixed_norm=False)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    net.train()
    for idx in torch.randperm(512).split(32):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} val accuracy {acc:.3f}")
