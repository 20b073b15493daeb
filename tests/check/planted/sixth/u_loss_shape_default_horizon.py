import torch
import torch.nn as nn
from dataclasses import dataclass

torch.manual_seed(11)


@dataclass
class ForecastConfig:
    lookback: int = 24
    hidden: int = 32
    horizon: int = 1


class Forecaster(nn.Module):
    def __init__(self, cfg=ForecastConfig()):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(cfg.lookback, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.horizon))

    def forward(self, x):
        return self.net(x)


def quantile_loss(pred, target, q=0.5):
    err = target - pred
    return torch.maximum(q * err, (q - 1) * err).mean()


def windows(series, cfg):
    w = series.unfold(0, cfg.lookback + cfg.horizon, 1)
    return w[:, :cfg.lookback], w[:, cfg.lookback:]


t = torch.arange(600.0)
series = torch.sin(t * 0.5) + 0.3 * torch.sin(t * 0.13) + 0.05 * torch.randn(600)
cfg = ForecastConfig(horizon=6)
x, y = windows(series, cfg)
model = Forecaster()  # BUG loss-shape-mismatch
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    for idx in torch.randperm(450).split(50):
        loss = quantile_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    mae = (model(x[480:]) - y[480:]).abs().mean(0)
print("train loss", round(loss.item(), 4))
print("test MAE per horizon", [round(v, 3) for v in mae.tolist()])
