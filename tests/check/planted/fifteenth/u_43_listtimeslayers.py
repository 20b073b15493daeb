"""Transformer-like stack built from a list of layers."""
import torch
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, d, t):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.tokens = nn.Linear(t, t)
        self.channels = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


def stack(make, depth):
    return nn.ModuleList([make()] * depth)  # BUG param-shared


class Mixer(nn.Module):
    def __init__(self, d_in=4, d=24, t=8, depth=4, classes=3):
        super().__init__()
        self.embed = nn.Linear(d_in, d)
        self.blocks = stack(lambda: MixerBlock(d, t), depth)  # BUG param-shared
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=1))


torch.manual_seed(0)
x = torch.randn(640, 8, 4)
y = (x[:, 0, 0] + x[:, -1, 1] > 0).long() + (x[:, 3, 2] > 0.5).long()
model = Mixer()
print("parameters:", sum(p.numel() for p in model.parameters()))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(640).split(32):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / 20)
