"""A custom optimizer (Lion-like) with decoupled weight decay."""
import torch
from torch import nn
from torch.optim import Optimizer


class Lion(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad, self.state[p]
                if not state:
                    state["m"] = torch.zeros_like(p)
                m = state["m"]
                update = (b1 * m + (1 - b1) * grad).sign()
                p = p * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * update  # BUG backward-without-step
                m.mul_(b2).add_(grad, alpha=1 - b2)
        return loss


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 8)
    y = torch.tanh(x @ torch.randn(8, 2))
    net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2))
    opt = Lion(net.parameters(), lr=3e-3, weight_decay=0.01)  # BUG backward-without-step
    for epoch in range(6):
        for b in torch.randperm(300).split(50):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(x[b]), y[b])
            loss.backward()
            opt.step()  # BUG backward-without-step
        print(epoch, loss.item())


main()
