"""Solar panel yield; micro batches are gathered to a larger effective batch."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    rows: int = 480
    micro_batch: int = 80
    accumulate: int = 2
    epochs: int = 20
    lr: float = 1e-2


def yields(n):
    x = torch.rand(n, 5)
    y = x[:, 0] * (1 - 0.7 * x[:, 1]) + 0.3 * torch.sin(3 * x[:, 2])
    return x, y + 0.02 * torch.randn(n)


class Trainer:
    def __init__(self, net, cfg):
        self.net, self.cfg = net, cfg
        self.opt = torch.optim.Adam(net.parameters(), lr=cfg.lr)
        self.loss_fn = nn.MSELoss()

    def epoch(self, loader):
        self.opt.zero_grad()
        total = 0.0
        for i, (x, y) in enumerate(loader):
            loss = self.loss_fn(self.net(x).squeeze(1), y)
            (loss / self.cfg.accumulate).backward()
            if (i + 1) % self.cfg.accumulate == 0:
                self.opt.step()
                self.opt.zero_grad()
            total += loss.item()
        return total / len(loader)


def main():
    torch.manual_seed(0)
    cfg = Settings()
    data = TensorDataset(*yields(cfg.rows))
    loader = DataLoader(data, batch_size=cfg.micro_batch, shuffle=True)
    x_val, y_val = yields(160)
    net = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 1))
    trainer = Trainer(net, cfg)
    for epoch in range(cfg.epochs):
        train = trainer.epoch(loader)
        if epoch % 5 == 4:
            with torch.no_grad():
                val = trainer.loss_fn(net(x_val).squeeze(1), y_val).item()
            print(f"epoch {epoch + 1} train {train:.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
