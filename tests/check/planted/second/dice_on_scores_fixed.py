"""Lesion segmentation with a soft Dice loss."""
import torch
import torch.nn as nn


class DiceLoss(nn.Module):
    def __init__(self, eps=1.0):
        super().__init__()
        self.eps = eps

    def forward(self, p, t):
        p, t = p.flatten(1), t.flatten(1)
        inter = (p * t).sum(1)
        return (1 - (2 * inter + self.eps) / (p.sum(1) + t.sum(1) + self.eps)).mean()


class TinyUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1), nn.ReLU())
        self.mid = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Upsample(scale_factor=2))
        self.out = nn.Conv2d(2 * ch, 1, 1)

    def forward(self, x):
        a = self.down(x)
        return self.out(torch.cat([a, self.mid(a)], 1))


def scans(n, size=16):
    img = 0.4 * torch.randn(n, 1, size, size)
    mask = torch.zeros_like(img)
    for i in range(n):
        r, c = torch.randint(0, size - 5, (2,)).tolist()
        mask[i, 0, r:r + 5, c:c + 5] = 1
    return img + mask, mask


torch.manual_seed(0)
net, crit = TinyUNet(), DiceLoss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(120):
    x, t = scans(16)
    loss = crit(torch.sigmoid(net(x)), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, t = scans(64)
    pred = torch.sigmoid(net(x)) > 0.5
    iou = (pred & (t > 0)).sum() / (pred | (t > 0)).sum()
print("loss", loss.item(), "iou", iou.item())
