"""MAML on sine tasks: inner steps on functional weights."""
import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F


class Regressor(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


def task(n):
    amp, phase = torch.rand(()) * 4 + 1, torch.rand(()) * 3.14
    x = torch.rand(2 * n, 1) * 10 - 5
    y = amp * torch.sin(x + phase)
    return x[:n], y[:n], x[n:], y[n:]


def adapt(model, weights, x, y, steps, lr):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, weights, (x,)), y)
        grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {
            name: w - lr * g
            for (name, w), g in zip(weights.items(), grads)
        }
    return weights


torch.manual_seed(1)
net = Regressor()
meta = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(15):
    meta.zero_grad()
    outer = 0.0
    for _ in range(4):
        xs, ys, xq, yq = task(10)
        fast = adapt(net, dict(net.named_parameters()), xs, ys, steps=2, lr=0.01)
        outer = outer + F.mse_loss(functional_call(net, fast, (xq,)), yq) / 4
    outer.backward()
    meta.step()
    if it % 5 == 0:
        print(it, outer.item())
