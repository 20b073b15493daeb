"""Energy-based model with Langevin samples from a persistent chain."""
import torch
from torch import nn

torch.manual_seed(0)
energy = nn.Sequential(nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1, bias=False))
opt = torch.optim.Adam(energy.parameters(), lr=1e-3)
chain = torch.randn(64, 2)


def data(n):
    sign = torch.where(torch.rand(n, 1) < 0.5, -1.0, 1.0)
    return torch.cat([1.5 * sign, torch.zeros(n, 1)], 1) + 0.3 * torch.randn(n, 2)


def langevin(x, steps=10, size=0.05):
    energy.requires_grad_(False)
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        (grad,) = torch.autograd.grad(energy(x).sum(), x)
        x = x - size * grad + (2 * size) ** 0.5 * torch.randn_like(x)
    energy.requires_grad_(True)
    return x.detach()


for step in range(80):
    chain = langevin(chain).clamp(-4, 4)
    positive, negative = energy(data(64)), energy(chain)
    loss = positive.mean() - negative.mean() + 0.05 * (positive ** 2 + negative ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f} chain spread {chain.std(0).tolist()}")
