import torch
import torch.nn as nn
import torch.nn.functional as F


class GaussianActivation(torch.autograd.Function):
    """exp(-x^2 / (2 s^2)) with a learnable width; recomputes instead of storing."""

    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return torch.exp(-x.pow(2) / (2 * s.pow(2)))

    @staticmethod
    def backward(ctx, grad_out):
        x, s = ctx.saved_tensors
        y = torch.exp(-x.pow(2) / (2 * s.pow(2)))
        gx = gs = None
        if ctx.needs_input_grad[0]:
            gx = -grad_out * y * x / s.pow(2)
        if ctx.needs_input_grad[1]:
            gs = (grad_out * y * x.pow(2) / s.pow(3)).sum(0)
        return gx, gs


class RBFLayer(nn.Module):
    def __init__(self, d_in, units):
        super().__init__()
        self.lin = nn.Linear(d_in, units)
        self.width = nn.Parameter(torch.ones(units))

    def forward(self, x):
        return GaussianActivation.apply(self.lin(x), self.width)


class RBFNet(nn.Module):
    def __init__(self, d_in=2, units=64):
        super().__init__()
        self.rbf1 = RBFLayer(d_in, units)
        self.rbf2 = RBFLayer(units, units)
        self.out = nn.Linear(units, 1)

    def forward(self, x):
        return self.out(self.rbf2(self.rbf1(x))).squeeze(-1)


def surface(n, g):
    x = torch.rand(n, 2, generator=g) * 4 - 2
    y = torch.sin(2.5 * x[:, 0]) * torch.cos(2.5 * x[:, 1])
    return x, y


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    x, y = surface(800, g)
    xt, yt = surface(300, g)
    net = RBFNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40)
    for epoch in range(40):
        for idx in torch.randperm(len(x)).split(40):
            loss = F.mse_loss(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        if epoch % 10 == 0:
            print(epoch, f"{loss.item():.4f}")
    with torch.no_grad():
        print(f"final test mse {F.mse_loss(net(xt), yt).item():.4f}")


main()
