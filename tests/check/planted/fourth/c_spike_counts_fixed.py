"""Spike counts of a neuron: divergence between observed and predicted rates."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Neuron(nn.Module):
    def __init__(self, stimuli=6, width=24):
        super().__init__()
        self.drive = nn.Sequential(nn.Linear(stimuli, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, exposure):
        return exposure * F.softplus(self.drive(x).squeeze(1))


def deviance(rate, count):
    """Poisson likelihood; bins without recording time contribute nothing."""
    log_rate = torch.log(rate.clamp(min=1e-4))
    return (rate - count * log_rate).mean()


def recordings(n):
    x = torch.randn(n, 6)
    exposure = torch.rand(n) * (torch.rand(n) > 0.05)
    rate = exposure * torch.relu(2.0 + x[:, 0] - 0.5 * x[:, 1])
    return x, exposure, torch.poisson(rate)


x, exposure, count = recordings(1000)
x_val, exposure_val, count_val = recordings(250)
net = Neuron()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(100):
    idx = torch.randint(0, 1000, (64,))
    loss = deviance(net(x[idx], exposure[idx]), count[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 24:
        with torch.no_grad():
            val = (net(x_val, exposure_val) - count_val).abs().mean().item()
        print(f"step {step + 1} deviance {loss.item():.3f} val error {val:.3f}")
