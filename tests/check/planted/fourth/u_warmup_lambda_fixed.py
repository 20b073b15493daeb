"""Sequence sum prediction with a warm-up schedule."""
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

PEAK, WARMUP, TOTAL = 5e-3, 20, 150


def schedule(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return max(0.05, (TOTAL - step) / (TOTAL - WARMUP))


class SumNet(nn.Module):
    def __init__(self, symbols=10, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(symbols, dim)
        self.mix = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, ids):
        return self.mix(self.embedding(ids)).squeeze(-1).sum(1)


def sums(n, length=6):
    ids = torch.randint(0, 10, (n, length))
    return ids, (ids.float().sum(1) - 27) / 7


torch.manual_seed(0)
ids, target = sums(1500)
val_ids, val_target = sums(300)
net = SumNet()
opt = torch.optim.Adam(net.parameters(), lr=PEAK)
scheduler = LambdaLR(opt, schedule)
for step in range(TOTAL):
    idx = torch.randint(0, 1500, (64,))
    loss = nn.functional.mse_loss(net(ids[idx]), target[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step()
    if step % 50 == 49:
        with torch.no_grad():
            val = nn.functional.mse_loss(net(val_ids), val_target).item()
        print(f"step {step + 1} train {loss.item():.4f} val {val:.4f}")
