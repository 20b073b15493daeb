"""A linear layer of one's own that forgets to divide the gradient of the weight as well."""

import torch
from torch import nn

torch.manual_seed(0)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t() / x.shape[1] ** 0.5

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        scale = x.shape[1] ** 0.5
        grad_x = grad @ weight / scale
        grad_weight = grad.t() @ x  # <- finding
        return grad_x, grad_weight


weight = nn.Parameter(torch.randn(1, 9))
optimizer = torch.optim.SGD([weight], lr=0.01)
x = torch.randn(20, 9)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(Scaled.apply(x, weight), x[:, :1])
    loss.backward()
    optimizer.step()
print(loss.item())
