import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def spirals(n, noise=0.08):
    t = torch.rand(n) * 3.2 * math.pi + 0.4
    y = torch.randint(0, 2, (n,))
    r = t / 10
    ang = t + y * math.pi
    x = torch.stack([r * ang.cos(), r * ang.sin()], 1) + noise * torch.randn(n, 2) * 0.5
    return x * 2, y


class Config:
    epochs = 60
    batch_size = 32
    lr = 1e-2
    width = 64
    decay_at = (35, 50)


class SpiralNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(2, w), nn.ReLU(), nn.Linear(w, w), nn.ReLU(), nn.Linear(w, 2))

    def forward(self, x):
        return self.seq(x)


def run_epoch(model, loader, opt, sched):
    model.train()
    tot = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(x)
    sched.step()
    return tot / len(loader.dataset)


def main():
    torch.manual_seed(7)
    x, y = spirals(640)
    xt, yt = spirals(300)
    loader = DataLoader(TensorDataset(x, y), batch_size=Config.batch_size, shuffle=True)
    model = SpiralNet(Config.width)
    opt = torch.optim.Adam(model.parameters(), lr=Config.lr)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=list(Config.decay_at), gamma=0.1)
    for ep in range(Config.epochs):
        tr = run_epoch(model, loader, opt, sched)
        if ep % 10 == 0:
            print(f"epoch {ep} loss {tr:.4f} lr {opt.param_groups[0]['lr']:.1e}")
    model.eval()
    with torch.no_grad():
        acc = (model(xt).argmax(1) == yt).float().mean()
    print(f"final acc {acc:.3f} loss {tr:.3f}")


if __name__ == "__main__":
    main()
