"""Regression with OneCycleLR."""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=640):
    x = torch.rand(n, 4) * 2 - 1
    y = torch.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]
    return TensorDataset(x, y + 0.05 * torch.randn_like(y))


def build(epochs, steps_per_epoch):
    net = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    sched = OneCycleLR(opt, max_lr=1e-2, epochs=epochs, steps_per_epoch=steps_per_epoch)  # BUG lr-absurd
    return net, opt, sched


def train(epochs=6):
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    net, opt, sched = build(epochs, len(loader))
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()  # BUG lr-absurd
        print(f"epoch {epoch} mse {total / len(loader):.4f} lr {sched.get_last_lr()[0]:.2e}")


train()
