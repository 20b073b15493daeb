"""Adapters in a pretrained encoder: the encoder is frozen, adapters and head are tuned."""
import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--lr", default=1e-2, type=float)
    p.add_argument("--steps", default=40, type=int)
    p.add_argument("--bottleneck", default=4, type=int)
    return p.parse_args([])


class Adapter(nn.Module):
    def __init__(self, dim, bottleneck):
        super().__init__()
        self.down = nn.Linear(dim, bottleneck)
        self.up = nn.Linear(bottleneck, dim)
        nn.init.normal_(self.up.weight, std=1e-2)

    def forward(self, x):
        return x + self.up(torch.tanh(self.down(x)))


class EncoderBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.adapter = nn.Identity()

    def forward(self, x):
        return self.adapter(x + self.mlp(self.norm(x)))


class Classifier(nn.Module):
    def __init__(self, dim=16, depth=3, classes=4):
        super().__init__()
        self.stem = nn.Linear(10, dim)
        self.blocks = nn.ModuleList([EncoderBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def insert_adapters(model, bottleneck):
    for block in model.blocks:
        block.adapter = Adapter(block.mlp[-1].out_features, bottleneck)


def freeze_backbone(model):
    model.stem.requires_grad_(False)
    model.blocks.requires_grad_(False)  # BUG param-frozen


args = get_args()
torch.manual_seed(7)
model = Classifier()
insert_adapters(model, args.bottleneck)  # BUG param-frozen
freeze_backbone(model)  # BUG param-frozen
trainable = [p for p in model.parameters() if p.requires_grad]
print("trainable", sum(p.numel() for p in trainable))
optimizer = optim.AdamW(trainable, lr=args.lr)
w = torch.randn(10, 4)
for step in range(args.steps):
    x = torch.randn(64, 10)
    y = (x @ w + 0.5 * (x ** 2) @ w).argmax(1)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
