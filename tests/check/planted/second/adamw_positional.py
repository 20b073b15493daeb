"""Tabular classifier with AdamW from a configuration."""
from types import SimpleNamespace
import torch
from torch import nn

cfg = SimpleNamespace(lr=4e-3, weight_decay=1e-6, steps=250, width=48)


def make_optimizer(model, cfg):
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decay, "weight_decay": cfg.weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, cfg.weight_decay)  # BUG lr-absurd


def draw(n):
    x = torch.randn(n, 6)
    return x, (x[:, 0].abs() > x[:, 1].abs()).long()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, cfg.width), nn.ReLU(), nn.Linear(cfg.width, cfg.width), nn.ReLU(),
                      nn.Linear(cfg.width, 2))
opt = make_optimizer(model, cfg)
for step in range(cfg.steps):
    x, y = draw(64)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = draw(500)
    print("loss", loss.item(), "acc", (model(x).argmax(1) == y).float().mean().item())
