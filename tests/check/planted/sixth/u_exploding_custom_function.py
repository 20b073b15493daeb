import torch
import torch.nn as nn

torch.manual_seed(0)


class ScaledTanh(torch.autograd.Function):
    """Memory-saving tanh(gain * x): only the output is stored."""

    @staticmethod
    def forward(ctx, x, gain):
        y = torch.tanh(gain * x)
        ctx.save_for_backward(y)
        ctx.gain = gain
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * ctx.gain * (1 + y * y), None  # BUG exploding-gradient


class DeepNet(nn.Module):
    def __init__(self, width=32, depth=12, gain=1.5):
        super().__init__()
        self.gain = gain
        self.inp = nn.Linear(8, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)
        for m in self.hidden:
            nn.init.orthogonal_(m.weight)

    def forward(self, x):
        h = self.inp(x)
        for m in self.hidden:
            h = ScaledTanh.apply(m(h), self.gain)
        return self.out(h)


net = DeepNet()
opt = torch.optim.SGD(net.parameters(), lr=0.005)
w = torch.randn(8, 1) / 3
for it in range(300):
    x = torch.randn(64, 8)
    loss = nn.functional.mse_loss(net(x), torch.tanh(x @ w))
    opt.zero_grad()
    loss.backward()
    g = net.inp.weight.grad.norm().item()
    opt.step()
    if it % 60 in (0, 59):
        print(f"it {it + 1} loss {loss.item():.4g} gradient norm of the first layer {g:.3g}")
