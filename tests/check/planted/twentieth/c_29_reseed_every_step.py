"""Masked autoencoding of short sensor windows."""
import torch
from torch import nn


def set_seed(seed):
    torch.manual_seed(seed)  # BUG same-mask


class MaskedAutoencoder(nn.Module):
    def __init__(self, length=24, width=48, ratio=0.4):
        super().__init__()
        self.ratio = ratio
        self.encode = nn.Sequential(nn.Linear(length, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.decode = nn.Linear(width, length)

    def forward(self, x):
        keep = torch.rand_like(x) > self.ratio  # BUG same-mask
        recon = self.decode(self.encode(x * keep))
        hidden = ~keep
        return ((recon - x) ** 2 * hidden).sum() / hidden.sum().clamp(min=1)


def windows(n, length=24):
    t = torch.arange(length) / length
    freq = torch.randint(1, 4, (n, 1))
    phase = torch.rand(n, 1)
    return torch.sin(2 * torch.pi * (freq * t + phase)) + 0.05 * torch.randn(n, length)


class Pretrainer:
    def __init__(self, model, data, seed=123, lr=2e-3, batch=32):
        self.model, self.data, self.seed, self.batch = model, data, seed, batch
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train_step(self, rows):
        set_seed(self.seed)  # BUG same-mask
        loss = self.model(rows)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def run(self, epochs):
        for epoch in range(epochs):
            total = 0.0
            chunks = self.data.split(self.batch)
            for rows in chunks:
                total += self.train_step(rows)
            print(epoch, total / len(chunks))


set_seed(123)
Pretrainer(MaskedAutoencoder(), windows(256)).run(4)
