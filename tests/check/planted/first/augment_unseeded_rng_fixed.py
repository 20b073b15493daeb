"""Contrastive pre-training on vectors with NumPy augmentations; seeds are set up front."""
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Augment:
    def __init__(self, sigma, seed):
        self.sigma = sigma
        self.rng = np.random.default_rng(seed)

    def __call__(self, x):
        noise = self.rng.normal(scale=self.sigma, size=x.shape).astype("float32")
        keep = (self.rng.random(x.shape) > 0.1).astype("float32")
        return (x + torch.from_numpy(noise)) * torch.from_numpy(keep)


def info_nce(a, b, tau=0.2):
    logits = F.normalize(a, dim=1) @ F.normalize(b, dim=1).t() / tau
    return F.cross_entropy(logits, torch.arange(len(a)))


seed_everything(42)
data = torch.randn(512, 16)
aug = Augment(0.2, 42)
enc = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(enc.parameters(), lr=2e-3)
for epoch in range(10):
    for idx in torch.randperm(512).split(64):
        x = data[idx]
        loss = info_nce(enc(aug(x)), enc(aug(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 0:
        print(epoch, loss.item())
print("final", loss.item())
