"""Segmentation with large images: micro-batches of one image and accumulation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

ACCUM = 4


class ConvBN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, padding=1, bias=False)
        self.bn = nn.GroupNorm(4, o)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Seg(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(ConvBN(1, 8), ConvBN(8, 8), nn.Conv2d(8, 1, 1))

    def forward(self, x):
        return self.net(x)


def image():
    """brightness varies a lot between images"""
    mask = (F.avg_pool2d(torch.randn(1, 1, 28, 28), 5, 1) > 0.05).float()
    return mask * 1.5 + 0.5 * torch.randn_like(mask), mask


torch.manual_seed(0)
net = Seg()
opt = torch.optim.Adam(net.parameters(), lr=8e-3)
opt.zero_grad()
for i in range(200):
    x, y = image()
    loss = F.binary_cross_entropy_with_logits(net(x), y)
    (loss / ACCUM).backward()
    if (i + 1) % ACCUM == 0:
        opt.step()
        opt.zero_grad()
net.eval()
with torch.no_grad():
    acc = torch.stack([((net(x) > 0) == (y > 0)).float().mean() for x, y in (image() for _ in range(20))])
print("pixel acc", acc.mean().item())
