"""Pixel-wise classification of synthetic cell pictures."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class PixelNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.SiLU(), nn.Conv2d(12, 12, 3, padding=1), nn.SiLU()
        )
        self.classify = nn.Conv2d(12, classes, 1)

    def forward(self, x):
        scores = self.classify(self.features(x))
        return F.log_softmax(scores, dim=1)


def cells(n, size=14):
    grid = torch.arange(size).float()
    cy, cx = 3 + 8 * torch.rand(2, n, 1, 1)
    d = ((grid[:, None] - cy) ** 2 + (grid[None, :] - cx) ** 2).sqrt()
    mask = torch.zeros(n, size, size, dtype=torch.long)
    mask[d < 4.5] = 1
    mask[d < 2.0] = 2
    image = mask.float() + 0.4 * torch.randn(n, size, size)
    return image.unsqueeze(1), mask


torch.manual_seed(0)
images, masks = cells(240)
val_images, val_masks = cells(60)
net = PixelNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(6):
    net.train()
    for idx in torch.randperm(240).split(24):
        loss = F.nll_loss(net(images[idx]), masks[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        log_p = net(val_images)
    acc = (log_p.argmax(1) == val_masks).float().mean().item()
    print(f"epoch {epoch} train {loss.item():.3f} val {F.nll_loss(log_p, val_masks).item():.3f} acc {acc:.3f}")
