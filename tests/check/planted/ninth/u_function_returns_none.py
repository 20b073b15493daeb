# A learned clipping range for activations, with a hand-made backward
import torch
from torch import nn


class LearnedClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x, limit)
        return torch.minimum(torch.maximum(x, -limit), limit)

    @staticmethod
    def backward(ctx, grad):
        x, limit = ctx.saved_tensors
        inside = x.abs() < limit
        return grad * inside, None  # BUG gradient-cut|param-unused


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.limit = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return LearnedClip.apply(x, self.limit)


torch.manual_seed(33)
x = torch.randn(256, 8)
y = x.clamp(-0.5, 0.5).sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(8, 16), Clip(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        loss.backward()
        opt.step()
    print(epoch, loss.item(), net[1].limit.item())
