"""Second-order MAML on sine regression; the inner step never calls an optimizer."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
meta_opt = torch.optim.Adam(net.parameters(), lr=3e-3)


def task():
    amplitude, phase = 0.5 + 2 * torch.rand(1), 3.14 * torch.rand(1)

    def draw(n):
        x = 10 * torch.rand(n, 1) - 5
        return x / 3, amplitude * torch.sin(x + phase)

    return draw


def adapt(params, x, y, lr=0.05, create_graph=True):
    loss = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}


for step in range(60):
    meta_opt.zero_grad()
    total = 0.0
    for _ in range(4):
        draw = task()
        fast = adapt(dict(net.named_parameters()), *draw(10))
        x, y = draw(10)
        loss = nn.functional.mse_loss(functional_call(net, fast, (x,)), y) / 4
        loss.backward()
        total += loss.item()
    meta_opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} query loss {total:.3f}")
