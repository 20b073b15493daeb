"""Bayes by backprop: sample the weights and call the network functionally."""
import math
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(6)
x = torch.linspace(-2, 2, 128).unsqueeze(1)
y = torch.sin(2 * x) + 0.5 * x

net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
rho = {k.replace(".", "_"): nn.Parameter(torch.full_like(p, -5.0)) for k, p in net.named_parameters()}
opt = torch.optim.Adam([*net.parameters(), *rho.values()], lr=1e-2)


def draw():
    out = {}
    for k, mu in net.state_dict().items():  # BUG gradient-cut
        sigma = nn.functional.softplus(rho[k.replace(".", "_")])
        out[k] = mu + sigma * torch.randn_like(mu)
    return out


def kl():
    total = 0.0
    for k, mu in net.state_dict().items():  # BUG gradient-cut
        s = nn.functional.softplus(rho[k.replace(".", "_")])
        total = total + (-s.log() + 0.5 * (s * s + mu * mu) - 0.5).sum()
    return total


for step in range(400):
    pred = functional_call(net, draw(), (x,))
    nll = 0.5 * ((pred - y) / 0.1).square().mean() + math.log(0.1)
    loss = nll + 1e-4 * kl()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, f"nll {nll.item():.3f}")
with torch.no_grad():
    print("mse of the mean network", round((net(x) - y).square().mean().item(), 4))
