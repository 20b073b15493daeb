"""Mixup with soft targets in a helper."""
import torch
from torch import nn
import torch.nn.functional as F


def mixup(x, y, n_cls, alpha, gen):
    lam = 0.5 + 0.5 * torch.rand(1, generator=gen).item() * alpha
    perm = torch.randperm(len(x), generator=gen)
    onehot = F.one_hot(y, n_cls)
    soft = torch.empty(onehot.shape)
    soft.copy_(lam * onehot + (1 - lam) * onehot[perm])
    return lam * x + (1 - lam) * x[perm], soft.float()


def soft_ce(logits, target):
    return -(target * F.log_softmax(logits, 1)).sum(1).mean()


def main(steps=200):
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(1)
    centers = 1.5 * torch.randn(4, 8)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        y = torch.randint(0, 4, (64,), generator=gen)
        x = centers[y] + torch.randn(64, 8, generator=gen)
        xm, ym = mixup(x, y, 4, alpha=0.8, gen=gen)
        loss = soft_ce(model(xm), ym)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        y = torch.randint(0, 4, (500,))
        acc = (model(centers[y] + torch.randn(500, 8)).argmax(1) == y).float().mean()
    print(f"loss {loss.item():.4f} acc {acc:.3f}")


main()
