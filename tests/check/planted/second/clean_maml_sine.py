"""Model-agnostic meta-learning on sine waves."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
meta = torch.optim.Adam(net.parameters(), lr=3e-3)


def task():
    amp, ph = 0.5 + 2 * torch.rand(1), 3.14 * torch.rand(1)

    def sample(n):
        x = 6 * torch.rand(n, 1) - 3
        return x, amp * torch.sin(x + ph)
    return sample


def adapt(params, x, y, lr=0.05, create_graph=True):
    loss = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
    grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
    return {k: p - lr * g for (k, p), g in zip(params.items(), grads)}


log = []
for it in range(150):
    meta.zero_grad()
    total = 0.0
    for _ in range(3):
        sample = task()
        fast = adapt(dict(net.named_parameters()), *sample(10))
        x, y = sample(10)
        loss = nn.functional.mse_loss(functional_call(net, fast, (x,)), y) / 3
        loss.backward()
        total += loss.item()
    meta.step()
    log.append(total)
print("loss after one inner step", sum(log[:20]) / 20, "->", sum(log[-20:]) / 20)
