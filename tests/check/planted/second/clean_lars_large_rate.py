"""Large-batch training with layer-wise adaptive rates."""
import torch
from torch import nn


class LARS(torch.optim.Optimizer):
    def __init__(self, params, lr, trust=0.01, momentum=0.9):
        super().__init__(params, dict(lr=lr, trust=trust, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.grad
                if p.ndim > 1:
                    g = g * (group["trust"] * p.norm() / (g.norm() + 1e-9))
                else:
                    g = g * group["trust"]
                buf = self.state[p].setdefault("m", torch.zeros_like(p))
                buf.mul_(group["momentum"]).add_(g)
                p.add_(buf, alpha=-group["lr"])


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
opt = LARS(net.parameters(), lr=8.0)
for step in range(120):
    for group in opt.param_groups:
        group["lr"] = 8.0 * min(1, (step + 1) / 20) * (1 - step / 120)
    x = torch.randn(512, 10)
    loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x = torch.randn(1000, 10)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == x[:, :4].argmax(1)).float().mean().item())
