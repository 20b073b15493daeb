"""Segmentation of squares; images are 'too big' for a batch, so gradients are accumulated."""
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class LoaderConfig:
    batch_size: int = 16
    shuffle: bool = True


@dataclass
class Config:
    loader: LoaderConfig = field(default_factory=LoaderConfig)
    accumulate: int = 1
    epochs: int = 3
    lr: float = 5e-3


class Squares(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.img = 0.5 * torch.randn(n, 1, 12, 12, generator=g)
        self.mask = torch.zeros(n, 1, 12, 12)
        for i, (r, c) in enumerate(torch.randint(0, 7, (n, 2), generator=g).tolist()):
            self.mask[i, :, r:r + 5, c:c + 5] = 1
        self.img += self.mask

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.mask[i]


def conv_bn(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


def main(cfg):
    torch.manual_seed(0)
    model = nn.Sequential(conv_bn(1, 8), conv_bn(8, 8), nn.Conv2d(8, 1, 1))
    loader = DataLoader(Squares(160), batch_size=cfg.loader.batch_size, shuffle=cfg.loader.shuffle)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        total = 0.0
        opt.zero_grad()
        for i, (x, m) in enumerate(loader):
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), m)
            (loss / cfg.accumulate).backward()
            total += loss.item()
            if (i + 1) % cfg.accumulate == 0:
                opt.step()
                opt.zero_grad()
        print(epoch, total / len(loader))


main(Config())
