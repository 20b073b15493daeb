"""Tabular classifier; reproducible runs by a seed in the configuration."""
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class Conf:
    seed: int = 1234
    lr: float = 0.01
    epochs: int = 6


class Runner:
    def __init__(self, conf):
        self.conf = conf
        torch.manual_seed(conf.seed)
        self.model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=conf.lr)

    def data(self, n):
        x = torch.randn(n, 6)
        return x, (x[:, 0] > x[:, 1]).long()

    def train(self):
        x, y = self.data(500)
        for _ in range(self.conf.epochs):
            for idx in torch.randperm(500).split(50):
                loss = nn.functional.cross_entropy(self.model(x[idx]), y[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
        return loss.item()

    @torch.no_grad()
    def test(self):
        x, y = self.data(300)
        return (self.model(x).argmax(1) == y).float().mean().item()


runner = Runner(Conf())
print("loss", runner.train())
print("acc", runner.test())
