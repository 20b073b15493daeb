"""A gradient that is reversed, one that is limited, and guided backpropagation."""

import torch
from torch import nn

torch.manual_seed(0)


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.strength * g, None


class Guided(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.clamp(min=0) * (x > 0)


class Limited(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * x.cos()).clamp(-1e-3, 1e-3)


x, domain = torch.randn(30, 3), (torch.arange(30) % 2).float()
body, head, judge = nn.Linear(3, 6), nn.Linear(6, 1), nn.Linear(6, 1)
optimizer = torch.optim.SGD([p for m in (body, head, judge) for p in m.parameters()], lr=0.05)
for step in range(4):
    optimizer.zero_grad()
    h = Limited.apply(body(x))
    loss = nn.functional.mse_loss(head(h), x[:, :1])
    loss = loss + nn.functional.binary_cross_entropy_with_logits(
        judge(Reverse.apply(h, 0.1 * step)).squeeze(1), domain
    )
    loss.backward()
    optimizer.step()
picture = x.clone().requires_grad_()
head(Guided.apply(body(picture))).sum().backward()
print(loss.item(), picture.grad.norm().item())
