from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    width: int = 24
    depth: int = 10
    epochs: int = 12
    lr: float = 0.05
    batch: int = 40
    seed: int = 77


class DeepClassifier(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        layers = []
        n_in = 2
        for _ in range(cfg.depth):
            layers.append(nn.Linear(n_in, cfg.width))
            layers.append(nn.ReLU())
            n_in = cfg.width
        layers.append(nn.Linear(cfg.width, 2))
        self.body = nn.Sequential(*layers)
        for m in self.body:
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")

    def forward(self, x):
        return self.body(x)


def moons(n, g):
    y = torch.randint(0, 2, (n,), generator=g)
    t = torch.rand(n, generator=g) * 3.1416
    sign = 1 - 2 * y.float()
    x = torch.stack([torch.cos(t) * sign + y, torch.sin(t) * sign + 0.5 * y], dim=1)
    return x + 0.1 * torch.randn(n, 2, generator=g), y


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    x, y = moons(800, g)
    xv, yv = moons(200, g)
    model = DeepClassifier(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        model.train()
        for idx in torch.randperm(len(x), generator=g).split(cfg.batch):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        first = model.body[0].weight.grad.norm().item()
        print(f"epoch {epoch:2d} loss {loss.item():.4f} val acc {acc:.3f} first layer grad {first:.2e}")


if __name__ == "__main__":
    main()
