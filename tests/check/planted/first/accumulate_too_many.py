"""Gradient accumulation with a step every `accum` batches, counted within the epoch."""
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--batch-size", type=int, default=50)
    p.add_argument("--accum", type=int, default=16)  # BUG backward-without-step
    p.add_argument("--epochs", type=int, default=12)
    return p.parse_args()


def main():
    args = get_args()
    torch.manual_seed(0)
    x = torch.randn(600, 8)
    y = (x[:, :1] - x[:, 1:2] > 0).float()
    loader = DataLoader(TensorDataset(x, y), args.batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(args.epochs):
        opt.zero_grad()
        for i, (xb, yb) in enumerate(loader):
            loss = nn.functional.binary_cross_entropy_with_logits(model(xb), yb)
            (loss / args.accum).backward()
            if (i + 1) % args.accum == 0:  # BUG backward-without-step
                opt.step()
                opt.zero_grad()
    xt = torch.randn(300, 8)
    with torch.no_grad():
        acc = ((model(xt) > 0) == (xt[:, :1] > xt[:, 1:2])).float().mean()
    print("acc", acc.item())


main()
