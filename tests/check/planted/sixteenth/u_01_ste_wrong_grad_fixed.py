import torch
from torch import nn


class ScaledClip(torch.autograd.Function):
    """y = clamp(scale * x, -1, 1)"""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return torch.clamp(scale * x, -1.0, 1.0)

    @staticmethod
    def backward(ctx, grad_out):
        x, scale = ctx.saved_tensors
        inside = ((scale * x).abs() < 1).to(grad_out.dtype)
        grad_x = grad_out * inside * scale
        grad_scale = (grad_out * inside * x).sum()
        return grad_x, grad_scale


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 32)
        self.scale = nn.Parameter(torch.tensor(0.3))
        self.l2 = nn.Linear(32, 1)

    def forward(self, x):
        return self.l2(ScaledClip.apply(self.l1(x), self.scale))


torch.manual_seed(0)
x = torch.randn(400, 4)
y = torch.tanh(2 * x[:, :1]) - x[:, 1:2] * 0.5
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(200):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f} scale {net.scale.item():.4f}")

s = torch.tensor(0.3, dtype=torch.double)
eps = 1e-5
xs = torch.randn(50, dtype=torch.double)
num = (ScaledClip.apply(xs, s + eps).sum() - ScaledClip.apply(xs, s - eps).sum()) / (2 * eps)
sg = s.clone().requires_grad_()
ScaledClip.apply(xs, sg).sum().backward()
print(f"d/dscale numeric {num.item():.4f} autograd {sg.grad.item():.4f}")
