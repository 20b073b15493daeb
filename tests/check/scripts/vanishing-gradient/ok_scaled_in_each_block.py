"""The gradient is scaled once."""

import torch
from torch import nn

"""Latent dynamics model: predict the last frame after a learned unroll of the state."""


class ScaleGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Dynamics(nn.Module):
    def __init__(self, obs=6, latent=24, unroll=8, factor=0.1):
        super().__init__()
        self.unroll, self.factor = unroll, factor
        self.encode = nn.Linear(obs, latent)
        self.cells = nn.ModuleList(nn.Linear(latent, latent) for _ in range(unroll))
        self.decode = nn.Linear(latent, obs)

    def forward(self, x):
        h = torch.tanh(self.encode(x))
        for cell in self.cells:
            h = h + 0.3 * torch.tanh(cell(h))
        h = ScaleGradient.apply(h, self.factor)
        return self.decode(h)


def pendulums(n, steps=8, dt=0.15):
    state = torch.randn(n, 6)
    start = state.clone()
    for _ in range(steps):
        angle, speed = state.chunk(2, dim=1)
        speed = speed - dt * torch.sin(2 * angle)
        state = torch.cat([angle + dt * speed, speed], dim=1)
    return start, state


torch.manual_seed(0)
x, y = pendulums(800)
x_val, y_val = pendulums(200)
net = Dynamics()
opt = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
for step in range(150):
    idx = torch.randint(0, 800, (64,))
    loss = nn.functional.mse_loss(net(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            val = nn.functional.mse_loss(net(x_val), y_val).item()
        print(f"step {step + 1} train {loss.item():.4f} val {val:.4f}")
