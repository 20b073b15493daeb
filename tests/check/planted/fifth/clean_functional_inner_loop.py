"""MAML-like adaptation with functional_call on the live parameters."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)


def task():
    phase = torch.rand(1) * 3.0
    return lambda x: torch.sin(2 * x + phase)


def adapt(params, x, y, lr=0.1):
    loss = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}


outer = []
for step in range(200):
    total = 0.0
    for _ in range(4):
        f = task()
        xs, xq = torch.rand(10, 1) * 4 - 2, torch.rand(20, 1) * 4 - 2
        fast = adapt(dict(net.named_parameters()), xs, f(xs))
        total = total + nn.functional.mse_loss(functional_call(net, fast, (xq,)), f(xq)) / 4
    opt.zero_grad()
    total.backward()
    opt.step()
    outer.append(total.item())
    if step % 50 == 0:
        print(step, round(total.item(), 4))
print("first", round(sum(outer[:20]) / 20, 4), "last", round(sum(outer[-20:]) / 20, 4))
