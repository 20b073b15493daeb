"""RealNVP-style normalizing flow on two banana-shaped variables."""
import torch
import torch.nn as nn
from torch.distributions import MultivariateNormal

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))
        # start as the identity
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        y = torch.cat([b, a] if self.flip else [a, b], dim=1)
        return y, s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, layers=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(layers))
        self.base = MultivariateNormal(torch.zeros(2), torch.eye(2))

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return total + self.base.log_prob(x)


def banana(n):
    a = torch.randn(n)
    return torch.stack([a, 0.5 * a ** 2 + 0.3 * torch.randn(n)], dim=1)


flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(150):
    loss = -flow.log_prob(banana(128)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} nll {loss.item():.3f}")
