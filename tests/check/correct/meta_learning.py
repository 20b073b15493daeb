"""MAML by hand: an inner step with create_graph on functional parameters, an outer step through it."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)
shapes = [(16, 1), (16,), (1, 16), (1,)]
weights = [(0.3 * torch.randn(shape)).requires_grad_() for shape in shapes]
outer = torch.optim.Adam(weights, lr=0.01)


def net(x, w):
    return F.linear(torch.tanh(F.linear(x, w[0], w[1])), w[2], w[3])


for iteration in range(6):
    meta = 0.0
    for _ in range(3):
        amplitude, phase = 1 + torch.rand(1), 3 * torch.rand(1)
        x = 4 * torch.rand(20, 1) - 2
        y = amplitude * torch.sin(x + phase)
        support = F.mse_loss(net(x[:10], weights), y[:10])
        gradients = torch.autograd.grad(support, weights, create_graph=True)
        fast = [w - 0.05 * g for w, g in zip(weights, gradients)]
        meta = meta + F.mse_loss(net(x[10:], fast), y[10:])
    outer.zero_grad()
    meta.backward()
    outer.step()
    print(iteration, meta.item())
