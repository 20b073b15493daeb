import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


def cosine_with_warmup(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = (step - warmup) / max(1, total - warmup)
        return 0.5 * (1 + math.cos(math.pi * progress))

    return LambdaLR(optimizer, factor)


def stripes(n, size=10):
    freq = torch.randint(1, 4, (n,))
    phase = torch.rand(n, 1, 1) * 6.28
    grid = torch.linspace(0, 6.28, size)
    image = torch.sin(freq.view(n, 1, 1) * grid.view(1, size, 1) + phase).expand(n, size, size)
    return (image + 0.5 * torch.randn(n, size, size)).unsqueeze(1), freq - 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup-fraction", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(16)
    x, y = stripes(640)
    x_val, y_val = stripes(160)
    model = nn.Sequential(
        nn.Conv2d(1, 8, (5, 1), padding=(2, 0)), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 3)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    total = args.epochs * (640 // 20)
    scheduler = cosine_with_warmup(optimizer, int(args.warmup_fraction * total), total)
    for epoch in range(args.epochs):
        model.train()
        for idx in torch.randperm(640).split(20):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} lr {scheduler.get_last_lr()[0]:.2e}")


if __name__ == "__main__":
    main()
