import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--micro", type=int, default=4)
    p.add_argument("--accum", type=int, default=16)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.5)
    return p.parse_args()


def noisy_linear(n, d=20, seed=0):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(d, generator=torch.Generator().manual_seed(77))
    x = torch.randn(n, d, generator=g)
    p = torch.sigmoid(1.5 * x @ w / 2)
    return TensorDataset(x, torch.bernoulli(p, generator=g))


class Logit(nn.Module):
    def __init__(self, d=20, h=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def train(args):
    torch.manual_seed(0)
    loader = DataLoader(noisy_linear(768), batch_size=args.micro, shuffle=True)
    val = noisy_linear(500, seed=5).tensors
    model = Logit()
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    for ep in range(args.epochs):
        model.train()
        running = 0.0
        for i, (x, y) in enumerate(loader):
            opt.zero_grad()  # BUG zero-between-backward-and-step
            loss = F.binary_cross_entropy_with_logits(model(x), y)
            (loss / args.accum).backward()
            running += loss.item()
            if (i + 1) % args.accum == 0:
                opt.step()
        if ep % 4 == 0:
            print(f"epoch {ep} train {running / len(loader):.4f}")
    model.eval()
    with torch.no_grad():
        out = model(val[0])
        vl = F.binary_cross_entropy_with_logits(out, val[1]).item()
        acc = ((out > 0).float() == val[1]).float().mean().item()
    return vl, acc


if __name__ == "__main__":
    vl, acc = train(get_args())
    print(f"final val loss {vl:.4f} acc {acc:.3f}")
