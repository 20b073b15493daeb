"""Small regression net with a hand-written bounded activation with a learned limit."""
import torch
from torch import nn


class BoundedAct(torch.autograd.Function):
    """y = limit * tanh(x / limit)"""

    @staticmethod
    def forward(ctx, x, limit):
        th = torch.tanh(x / limit)
        ctx.save_for_backward(x, limit, th)
        return limit * th

    @staticmethod
    def backward(ctx, grad_out):
        x, limit, th = ctx.saved_tensors
        slope = 1 - th ** 2
        grad_limit = (grad_out * (th - slope * x / limit)).sum(0)
        return None, grad_limit  # BUG gradient-cut


class Bounded(nn.Module):
    def __init__(self, n, limit=3.0):
        super().__init__()
        self.limit = nn.Parameter(torch.full((n,), limit))

    def forward(self, x):
        return BoundedAct.apply(x, self.limit)


def build(widths, act):
    layers = []
    for a, b in zip(widths[:-1], widths[1:]):
        layers += [nn.Linear(a, b), act(b)]
    return nn.Sequential(*layers[:-1])


def main():
    torch.manual_seed(11)
    x = torch.randn(600, 6)
    y = torch.sin(2 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]
    xtr, ytr, xva, yva = x[:500], y[:500], x[500:], y[500:]
    net = build([6, 64, 64, 1], Bounded)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    g = torch.Generator().manual_seed(0)
    for step in range(400):
        idx = torch.randint(0, 500, (64,), generator=g)
        loss = nn.functional.mse_loss(net(xtr[idx]), ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(f"val mse {nn.functional.mse_loss(net(xva), yva):.4f} (variance {yva.var():.3f})")


if __name__ == "__main__":
    main()
