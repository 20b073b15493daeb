import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

NUM_CLASSES = 3


def shapes(n, seed, size=16):
    g = torch.Generator().manual_seed(seed)
    img = torch.randn(n, 1, size, size, generator=g) * 0.3
    mask = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        for c in (1, 2):
            r, q = torch.randint(0, size - 6, (2,), generator=g).tolist()
            mask[i, r:r + 6, q:q + 6] = c
    img[:, 0] += (mask == 1) * 1.5 - (mask == 2) * 1.5
    return TensorDataset(img, mask)


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU())
        self.d2 = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.out = nn.Conv2d(2 * c, NUM_CLASSES, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.up(self.d2(a))
        return self.out(torch.cat([a, b], dim=1))


def pixel_loss(logits, target, weight=None):
    flat = logits.permute(0, 2, 3, 1).contiguous().view(-1, NUM_CLASSES)
    return F.cross_entropy(flat, target.view(-1), weight=weight)


def miou(model, loader):
    inter, union = torch.zeros(NUM_CLASSES), torch.zeros(NUM_CLASSES)
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            p = model(x).argmax(1)
            for c in range(NUM_CLASSES):
                inter[c] += ((p == c) & (y == c)).sum()
                union[c] += ((p == c) | (y == c)).sum()
    return (inter / union.clamp(min=1)).mean().item()


torch.manual_seed(0)
train_dl = DataLoader(shapes(160, 1), batch_size=16, shuffle=True)
val_dl = DataLoader(shapes(40, 2), batch_size=20)
net = MiniUNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
w = torch.tensor([0.5, 1.0, 1.0])
for ep in range(8):
    net.train()
    for x, y in train_dl:
        loss = pixel_loss(net(x), y, w)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {ep} loss {loss.item():.3f} mIoU {miou(net, val_dl):.3f}")
print(f"final mIoU {miou(net, val_dl):.3f}")
