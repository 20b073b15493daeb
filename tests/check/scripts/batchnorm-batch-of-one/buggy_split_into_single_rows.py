"""A batch is split into parts of one image."""

import torch
from torch import nn

MICRO = 1  # <- finding


def make(n, gen):
    y = torch.randint(0, 2, (n,), generator=gen)
    x = torch.randn(n, 1, 8, 8, generator=gen) * 0.3
    x = x + (y.float() * 1.2).view(-1, 1, 1, 1)
    return x, y


class Patch(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x)))
        return self.out(h.mean((2, 3)))


def train_step(model, opt, xb, yb):
    opt.zero_grad()
    total = 0.0
    for xm, ym in zip(xb.split(MICRO), yb.split(MICRO)):
        loss = nn.functional.cross_entropy(model(xm), ym, reduction="sum") / len(xb)
        loss.backward()
        total += loss.item()
    opt.step()
    return total


g = torch.Generator().manual_seed(0)
torch.manual_seed(0)
xtr, ytr = make(128, g)
xte, yte = make(200, g)
model = Patch()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(128, generator=g).split(32):
        last = train_step(model, opt, xtr[idx], ytr[idx])
    print(f"epoch {epoch} loss {last:.4f}")
model.eval()
with torch.no_grad():
    acc = (model(xte).argmax(1) == yte).float().mean()
print("test accuracy", round(acc.item(), 3))
