"""A custom autograd Function: rounding whose gradient passes straight through inside the range."""
import torch
from torch import nn


class Quantise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return (x.clamp(-1, 1) * levels).round() / levels

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1), None


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(6, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        return self.dec(Quantise.apply(self.enc(x), 3))


torch.manual_seed(0)
factors = torch.randn(400, 3)
x = factors @ torch.randn(3, 6)
net = Coder()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(300):
    loss = nn.functional.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 75 == 0:
        print(step, round(loss.item(), 4), "encoder gradient", round(net.enc.weight.grad.norm().item(), 4))
print("loss", round(loss.item(), 4), "variance", round(x.var().item(), 4))
