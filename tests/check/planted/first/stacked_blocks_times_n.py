"""Residual MLP for a regression task; the depth is a constructor argument."""
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d))

    def forward(self, x):
        return x + self.net(x)


class ResMLP(nn.Module):
    def __init__(self, n_in, d=32, depth=4):
        super().__init__()
        self.inp = nn.Linear(n_in, d)
        self.blocks = nn.ModuleList([Residual(d)] * depth)  # BUG param-shared
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = b(x)
        return self.out(x).squeeze(-1)


def f(x):
    return torch.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2].abs()


torch.manual_seed(0)
model = ResMLP(3)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=250)
for step in range(250):
    x = torch.rand(64, 3) * 2 - 1
    loss = nn.functional.mse_loss(model(x), f(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
with torch.no_grad():
    x = torch.rand(500, 3) * 2 - 1
    print("params", sum(p.numel() for p in model.parameters()),
          "test mse", nn.functional.mse_loss(model(x), f(x)).item())
