"""Segmentation of blobs with a small encoder-decoder."""
import torch
from torch import nn


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.d1, self.d2 = double_conv(1, 8), double_conv(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.u1 = double_conv(16, 8)
        self.out = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        u = self.u1(torch.cat([a, self.up(b)], dim=1))
        return torch.softmax(self.out(u), dim=1)  # BUG softmax-before-ce


def make_batch(n, size=16):
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        cx, cy = torch.randint(3, size - 3, (2,)).tolist()
        c = int(torch.randint(1, 3, (1,)))
        mask[i, cy - 3:cy + 3, cx - 3:cx + 3] = c
    img = mask.unsqueeze(1).float() + 0.3 * torch.randn(n, 1, size, size)
    return img, mask


torch.manual_seed(7)
net = UNet()
criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.4, 1.0, 1.0]))  # BUG softmax-before-ce
optim = torch.optim.Adam(net.parameters(), lr=4e-3)
for it in range(30):
    img, mask = make_batch(8)
    optim.zero_grad()
    out = net(img)
    loss = criterion(out, mask)  # BUG softmax-before-ce
    loss.backward()
    optim.step()
    if it % 10 == 0:
        iou = ((out.argmax(1) == mask) & (mask > 0)).sum() / (mask > 0).sum()
        print(it, loss.item(), iou.item())
