import torch
import torch.nn as nn

torch.manual_seed(17)
C, H, W = 3, 16, 16


class TinySeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, C, 1))

    def forward(self, x):
        return self.net(x)


def scenes(n):
    mask = torch.zeros(n, H, W, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(0, 10, (2,)).tolist()
        mask[i, r:r + 6, c:c + 6] = 1 + i % 2
    img = mask.float().unsqueeze(1) - 1 + 0.2 * torch.randn(n, 1, H, W)
    return img, mask


def segmentation_loss(logits, mask):
    flat = logits.permute(0, 2, 3, 1).reshape(-1, C)
    return nn.functional.cross_entropy(flat, mask.reshape(-1))


x, m = scenes(96)
xt, mt = scenes(24)
net = TinySeg()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(10):
    for i in range(0, 96, 16):
        opt.zero_grad()
        loss = segmentation_loss(net(x[i:i + 16]), m[i:i + 16])
        loss.backward()
        opt.step()
    with torch.no_grad():
        pred = net(xt).argmax(1)
        inter = ((pred == mt) & (mt > 0)).sum().item()
        union = ((pred > 0) | (mt > 0)).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} foreground IoU {inter / union:.3f}")
