import torch
import torch.nn as nn
import torch.nn.functional as F


class UNetLite(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down1 = nn.Conv2d(1, width, 3, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.last = nn.Conv2d(2 * width, 1, 1)

    def forward(self, x):
        skip = F.relu(self.down1(x))
        low = F.relu(self.down2(F.max_pool2d(skip, 2)))
        x = torch.cat([F.relu(self.up(low)), skip], dim=1)
        return self.last(x)


def discs(n, size=16):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    centre = torch.randint(4, size - 4, (n, 2))
    radius = torch.randint(1, 3, (n,)).view(n, 1, 1)
    dist = (yy - centre[:, 0].view(n, 1, 1)) ** 2 + (xx - centre[:, 1].view(n, 1, 1)) ** 2
    mask = (dist <= radius**2).float().unsqueeze(1)
    return mask + 0.3 * torch.randn(n, 1, size, size), mask


def iou(logits, mask):
    pred = logits > 0
    true = mask > 0.5
    return ((pred & true).sum() / (pred | true).sum().clamp(min=1)).item()


def main():
    torch.manual_seed(4)
    images, masks = discs(300)
    val_images, val_masks = discs(60)
    model = UNetLite()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(12):
        model.train()
        for idx in torch.randperm(300).split(15):
            optimizer.zero_grad()
            loss = criterion(model(images[idx]), masks[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(val_images)
            print(f"epoch {epoch} val loss {criterion(out, val_masks).item():.4f} iou {iou(out, val_masks):.3f}")


main()
