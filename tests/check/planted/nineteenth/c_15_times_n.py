"""Time series forecasting with a stack of temporal blocks."""
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Cfg:
    channels: int = 12
    depth: int = 3
    window: int = 24
    horizon: int = 4
    batch: int = 32
    steps: int = 40
    lr: float = 4e-3


class TemporalBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv1d(ch, ch, 3, padding=1)
        self.norm = nn.GroupNorm(3, ch)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(x)))


class Forecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.inp = nn.Conv1d(1, cfg.channels, 1)
        block = TemporalBlock(cfg.channels)  # BUG param-shared
        self.blocks = nn.Sequential(*[block for _ in range(cfg.depth)])  # BUG param-shared
        self.out = nn.Linear(cfg.channels * cfg.window, cfg.horizon)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x[:, None])).flatten(1))


def series(n):
    t = torch.arange(n, dtype=torch.float32)
    return torch.sin(t / 5) + 0.5 * torch.sin(t / 11) + 0.1 * torch.randn(n)


def main(cfg=Cfg()):
    torch.manual_seed(9)
    s = series(1200)
    windows = s.unfold(0, cfg.window + cfg.horizon, 1)
    train = windows[:900]
    test = windows[900 + cfg.window + cfg.horizon:]
    model = Forecaster(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        b = train[torch.randint(0, len(train), (cfg.batch,))]
        loss = nn.functional.mse_loss(model(b[:, :cfg.window]), b[:, cfg.window:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(loss.item(), nn.functional.mse_loss(model(test[:, :cfg.window]), test[:, cfg.window:]).item())


main()
