import math
import torch
import torch.nn as nn
import torch.nn.functional as F

BASE_LR, MIN_LR = 5e-3, 1e-4


def make_schedule(total, warmup):
    def fn(step):
        if step < warmup:
            return BASE_LR * (step + 1) / warmup  # BUG lr-absurd
        frac = (step - warmup) / max(1, total - warmup)
        return MIN_LR + 0.5 * (BASE_LR - MIN_LR) * (1 + math.cos(math.pi * frac))  # BUG lr-absurd
    return fn


class Siamese(nn.Module):
    def __init__(self, d=12, h=48, e=8):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, e))

    def forward(self, a, b):
        return (self.f(a) - self.f(b)).pow(2).sum(1).add(1e-8).sqrt()


def contrastive(dist, same, margin=1.5):
    return (same * dist.pow(2) + (1 - same) * F.relu(margin - dist).pow(2)).mean()


def pairs(n, centers, gen):
    ca = torch.randint(0, len(centers), (n,), generator=gen)
    cb = torch.randint(0, len(centers), (n,), generator=gen)
    half = torch.rand(n, generator=gen) < 0.4
    cb = torch.where(half, ca, cb)
    a = centers[ca] + 0.8 * torch.randn(n, 12, generator=gen)
    b = centers[cb] + 0.8 * torch.randn(n, 12, generator=gen)
    return a, b, (ca == cb).float()


def main(steps=400, warmup=20):
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(3)
    centers = torch.randn(6, 12, generator=gen)
    model = Siamese()
    opt = torch.optim.AdamW(model.parameters(), lr=BASE_LR)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, make_schedule(steps, warmup))  # BUG lr-absurd
    for step in range(steps):
        a, b, same = pairs(64, centers, gen)
        loss = contrastive(model(a, b), same)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.2e}")
    model.eval()
    with torch.no_grad():
        a, b, same = pairs(1000, centers, gen)
        d = model(a, b)
        acc = ((d < 0.75).float() == same).float().mean().item()
    print(f"final loss {contrastive(d, same).item():.4f} acc {acc:.3f}")


main()
