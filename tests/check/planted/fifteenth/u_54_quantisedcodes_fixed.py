"""Autoencoder with quantised codes."""
import torch
from torch import nn


class Quantise(nn.Module):
    def __init__(self, levels=8):
        super().__init__()
        self.levels = levels

    def forward(self, z):
        z = torch.tanh(z)
        q = torch.round(z * self.levels) / self.levels
        return z + (q - z).detach()


class Codec(nn.Module):
    def __init__(self, d=24, code=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, code))
        self.quantise = Quantise()
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        return self.decoder(self.quantise(self.encoder(x)))


def signals(n):
    return torch.tanh(torch.randn(n, 5) @ torch.randn(5, 24))


def main(epochs=6):
    torch.manual_seed(0)
    data = signals(640)
    model = Codec()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(data)).split(32):
            batch = data[idx]
            loss = nn.functional.mse_loss(model(batch), batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(epoch, total / 20)


main()
