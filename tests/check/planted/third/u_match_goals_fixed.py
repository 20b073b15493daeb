"""Expected goals of a football team from pre-match features, Poisson regression."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    features: int = 6
    hidden: int = 24
    steps: int = 120
    batch: int = 64
    lr: float = 5e-3
    seed: int = 3


class GoalRate(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(cfg.features, cfg.hidden), nn.SiLU())
        self.log_rate = nn.Linear(cfg.hidden, 1)

    def forward(self, x):
        return self.log_rate(self.body(x))


def make_matches(n, cfg):
    x = torch.randn(n, cfg.features)
    strength = 0.4 + 0.6 * x[:, 0] - 0.4 * x[:, 1] + 0.2 * x[:, 2] * x[:, 3]
    return x, torch.poisson(strength.clamp(max=2.0).exp())


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    x, goals = make_matches(1024, cfg)
    x_test, goals_test = make_matches(256, cfg)
    net = GoalRate(cfg)
    opt = torch.optim.AdamW(net.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        pick = torch.randint(len(x), (cfg.batch,))
        log_rate = net(x[pick])
        loss = F.poisson_nll_loss(log_rate.squeeze(-1), goals[pick])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 40 == 39:
            print(f"step {step + 1} nll {loss.item():.3f}")
    with torch.no_grad():
        rate = net(x_test).squeeze(-1).exp()
    print("test mae", (rate - goals_test).abs().mean().item())


if __name__ == "__main__":
    main()
