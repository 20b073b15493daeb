"""Binary segmentation with BCE + Dice."""
import torch
from torch import nn
import torch.nn.functional as F


def binarise(logits, threshold=0.5):
    return (torch.sigmoid(logits) > threshold).float()


def dice_loss(logits, target, eps=1.0):
    pred = torch.sigmoid(logits)
    inter = (pred * target).sum(dim=(1, 2, 3))
    union = pred.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
    return (1 - (2 * inter + eps) / (union + eps)).mean()


def criterion(logits, target):
    return 0.5 * F.binary_cross_entropy_with_logits(logits, target) + 0.5 * dice_loss(logits, target)


class UNetish(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down = nn.Conv2d(1, c, 3, padding=1)
        self.mid = nn.Conv2d(c, c, 3, padding=1)
        self.up = nn.Conv2d(2 * c, 1, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.down(x))
        b = F.interpolate(F.relu(self.mid(F.avg_pool2d(a, 2))), scale_factor=2)
        return self.up(torch.cat([a, b], dim=1))


def discs(n, size=12):
    g = torch.arange(size).float()
    c = torch.randint(3, size - 3, (n, 2)).float()
    d = (g.view(1, -1, 1) - c[:, 0].view(-1, 1, 1)) ** 2 + (g.view(1, 1, -1) - c[:, 1].view(-1, 1, 1)) ** 2
    mask = (d < 6).float().unsqueeze(1)
    return mask + 0.6 * torch.randn_like(mask), mask


torch.manual_seed(0)
images, masks = discs(320)
model = UNetish()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for idx in torch.randperm(320).split(32):
        loss = criterion(model(images[idx]), masks[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        iou_pred = binarise(model(images[:64]))
        iou = (iou_pred * masks[:64]).sum() / ((iou_pred + masks[:64]) > 0).sum()
    print(epoch, loss.item(), iou.item())
