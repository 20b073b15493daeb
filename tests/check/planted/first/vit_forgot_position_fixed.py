"""Tiny vision transformer: in which quadrant is the bright patch?"""
import torch
from torch import nn


class ViT(nn.Module):
    def __init__(self, patch=4, d=32, n=16, n_cls=4):
        super().__init__()
        self.patch = nn.Conv2d(1, d, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(0.3 * torch.randn(1, n + 1, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(d, n_cls)

    def forward(self, x):
        t = self.patch(x).flatten(2).transpose(1, 2)
        t = torch.cat([self.cls.expand(len(t), -1, -1), t], 1) + self.pos
        return self.head(self.enc(t)[:, 0])


def images(n):
    x = 0.3 * torch.randn(n, 1, 16, 16)
    y = torch.randint(0, 4, (n,))
    for i, k in enumerate(y.tolist()):
        r, c = 8 * (k // 2), 8 * (k % 2)
        x[i, 0, r:r + 4, c:c + 4] += 1.5
    return x, y


torch.manual_seed(0)
model = ViT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(120):
    x, y = images(32)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    x, y = images(200)
    print("acc", (model(x).argmax(1) == y).float().mean().item())
