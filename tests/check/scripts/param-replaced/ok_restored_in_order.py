"""Trains for some epochs, stores a checkpoint, and goes on from it as a restarted job does."""
import io

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def build():
    net = Net()
    return net, torch.optim.Adam(net.parameters(), lr=2e-3)


def train(net, optimizer, x, y, epochs):
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(32):
            loss = nn.functional.mse_loss(net(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("loss", round(loss.item(), 4))


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 5)
    y = x[:, 0] * x[:, 1] + x[:, 2]
    net, optimizer = build()
    train(net, optimizer, x, y, 2)
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)

    file.seek(0)
    checkpoint = torch.load(file)
    net, optimizer = build()
    optimizer.load_state_dict(checkpoint["optimizer"])
    net.load_state_dict(checkpoint["net"])
    train(net, optimizer, x, y, 2)


main()
