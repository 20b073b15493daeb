# A custom autograd function with a learned scale
import torch
from torch import nn


class ScaledSwish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, s, beta)
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, s, beta = ctx.saved_tensors
        grad_x = grad * (s + beta * x * s * (1 - s))
        return grad_x, None  # BUG gradient-cut


class Swish(nn.Module):
    def __init__(self):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return ScaledSwish.apply(x, self.beta)


torch.manual_seed(1)
net = nn.Sequential(nn.Linear(3, 32), Swish(), nn.Linear(32, 1))
x = torch.randn(300, 3)
y = (x * torch.sigmoid(3 * x)).sum(1, keepdim=True)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(40):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
print(loss.item(), "beta", net[1].beta.item())
