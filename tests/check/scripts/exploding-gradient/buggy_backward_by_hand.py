import torch
from torch import nn


class Steep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(2 * x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return 4 * g * (1 + y * y)  # <- finding: backward-by-hand, exploding-gradient


torch.manual_seed(0)
layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(10))
for layer in layers:
    nn.init.orthogonal_(layer.weight)
out = nn.Linear(16, 1)
opt = torch.optim.SGD([*layers.parameters(), *out.parameters()], lr=1e-9 + 1e-3)
for step in range(10):
    h = torch.randn(32, 16)
    y = h[:, :1]
    for layer in layers:
        h = Steep.apply(layer(h))
    loss = nn.functional.mse_loss(out(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
