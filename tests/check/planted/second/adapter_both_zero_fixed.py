"""Low-rank adapters on a frozen random network."""
import torch
from torch import nn
import torch.nn.functional as F


class LowRank(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up)


def adapt(module, rank):
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, LowRank(child, rank))
        else:
            adapt(child, rank)
    return module


def draw(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] + x[:, 1] > 0).long()


torch.manual_seed(0)
net = adapt(nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)), rank=4)
opt = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=5e-3)
for step in range(200):
    x, y = draw(64)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = draw(500)
    print("loss", loss.item(), "acc", (net(x).argmax(1) == y).float().mean().item())
