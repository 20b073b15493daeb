import torch
from torch import nn

torch.manual_seed(0)


def make_masks(n):
    m = torch.zeros(n, 1, 16, 16)
    for i in range(n):
        r, c = torch.randint(0, 13, (2,)).tolist()
        m[i, 0, r:r + 3, c:c + 3] = 1
    return m + 0.0, m + 0.6 * torch.randn(n, 1, 16, 16)


class DiceBCELoss(nn.Module):
    def __init__(self, bce_weight=0.1, smooth=1.0):
        super().__init__()
        self.bce = nn.BCEWithLogitsLoss()
        self.w, self.smooth = bce_weight, smooth

    def forward(self, logits, target):
        probs = torch.sigmoid(logits)
        pred = probs
        inter = (pred * target).sum((1, 2, 3))
        union = pred.sum((1, 2, 3)) + target.sum((1, 2, 3))
        dice = 1 - ((2 * inter + self.smooth) / (union + self.smooth)).mean()
        return self.w * self.bce(logits, target) + (1 - self.w) * dice


masks, images = make_masks(120)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = DiceBCELoss()
for epoch in range(15):
    total = 0.0
    for xb, mb in zip(images.split(20), masks.split(20)):
        loss = loss_fn(net(xb), mb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            p = (net(images) > 0).float()
            d = 2 * (p * masks).sum() / (p.sum() + masks.sum())
        print(f"epoch {epoch} loss {total / 6:.4f} dice {d.item():.3f}")
