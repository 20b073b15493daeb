"""Fit a small regressor on simulated sensor readings with gradient accumulation."""
import torch
from dataclasses import dataclass
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    batch_size: int = 64
    epochs: int = 25
    lr: float = 3e-2
    effective_batch: int = 128

    @property
    def accum(self):
        return self.effective_batch // self.batch_size


cfg = Config()
torch.manual_seed(3)
x = torch.randn(640, 6)
y = (x[:, :1] * 2 - x[:, 1:2] * x[:, 2:3]) + 0.05 * torch.randn(640, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=cfg.batch_size, shuffle=True)

net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)

for epoch in range(cfg.epochs):
    opt.zero_grad()
    total = 0.0
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.mse_loss(net(xb), yb)
        (loss / cfg.accum).backward()
        total += loss.item() * len(xb)
        if (i + 1) % cfg.accum == 0:
            opt.step()
            opt.zero_grad()
    if epoch % 6 == 0:
        print(f"epoch {epoch:2d} mse {total / len(x):.4f}")

with torch.no_grad():
    print("final mse", round(nn.functional.mse_loss(net(x), y).item(), 4))
