"""Resuming: the model is read back after the optimizer was made."""
import io

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, n_in=6, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def save(model, epoch):
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "epoch": epoch}, buffer)
    buffer.seek(0)
    return buffer


def resume(model, buffer):
    checkpoint = torch.load(buffer)
    restored = Regressor()
    restored = model
    restored.load_state_dict(checkpoint["model"])
    return restored, checkpoint["epoch"]


def batches(n, size=32):
    for _ in range(n):
        x = torch.randn(size, 6)
        yield x, x[:, 0] * x[:, 1] + x[:, 2]


class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.loss_fn = nn.MSELoss()
        self.epoch = 0

    def restore(self, buffer):
        self.model, self.epoch = resume(self.model, buffer)

    def run(self, epochs):
        while self.epoch < epochs:
            self.model.train()
            for x, y in batches(10):
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                self.optimizer.step()
            self.epoch += 1
            print(self.epoch, loss.item())


torch.manual_seed(0)
pretrained = Regressor()
loop = Loop(Regressor())
loop.restore(save(pretrained, 2))
loop.run(5)
