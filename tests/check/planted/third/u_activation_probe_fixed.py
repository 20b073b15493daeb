"""Classifier of radar returns; a forward hook watches how saturated the hidden layer is."""
import torch
from torch import nn


class Probe:
    def __init__(self, module):
        self.outputs = []
        module.register_forward_hook(self)

    def __call__(self, module, args, output):
        self.outputs = [output.detach()]

    def saturation(self):
        return (self.outputs[-1].abs() > 0.97).float().mean().item()


def radar(n):
    t = torch.linspace(0, 1, 128)
    kind = torch.randint(0, 2, (n,))
    speed = 3 + 2 * torch.rand(n, 1)
    chirp = torch.where(kind[:, None] == 1, t * t, t)
    echo = torch.sin(12 * speed * chirp) + 0.4 * torch.randn(n, 128)
    return echo, kind.float()


def main():
    torch.manual_seed(0)
    x, y = radar(1200)
    x_val, y_val = radar(300)
    hidden = nn.Sequential(nn.Linear(128, 256), nn.Tanh())
    net = nn.Sequential(hidden, nn.Linear(256, 1), nn.Flatten(0))
    probe = Probe(hidden)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    for step in range(200):
        idx = torch.randint(len(x), (128,))
        loss = loss_fn(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.3f} saturated {probe.saturation():.3f}")
    with torch.no_grad():
        acc = ((net(x_val) > 0).float() == y_val).float().mean()
    print("validation accuracy", acc.item())


main()
