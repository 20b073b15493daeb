"""Image patches with a hand-written multi-head attention."""
import torch
from torch import nn


class MHSA(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.o = nn.Linear(dim, dim)

    def split(self, x):
        b, n, _ = x.shape
        return x.reshape(b, n, self.h, self.d).transpose(1, 2)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        w = (q @ k.transpose(-1, -2) * self.d ** -0.5).softmax(-1)
        return self.o((w @ v).transpose(1, 2).reshape(b, n, c))


class ViT(nn.Module):
    def __init__(self, classes=4, dim=32, patch=4, size=16):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, dim) * 0.02)
        self.norm = nn.LayerNorm(dim)
        self.att = MHSA(dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.fc = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.patch(img).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        x = x + self.att(self.norm(x))
        x = x + self.mlp(x)
        return self.fc(x[:, 0])


torch.manual_seed(0)
y = torch.randint(0, 4, (240,))
img = 0.4 * torch.randn(240, 1, 16, 16)
for i, c in enumerate(y.tolist()):
    img[i, 0, (c // 2) * 8:(c // 2) * 8 + 8, (c % 2) * 8:(c % 2) * 8 + 8] += 0.7
net = ViT()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(5):
    for b in torch.randperm(240).split(40):
        loss = nn.functional.cross_entropy(net(img[b]), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
