import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTaskNet(nn.Module):
    def __init__(self, d=16, h=32):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.depth = nn.Linear(h, 1)
        self.label = nn.Linear(h, 4)

    def forward(self, x):
        h = self.shared(x)
        return self.depth(h).squeeze(-1), self.label(h)


class UncertaintyWeighting(nn.Module):
    """Kendall-style weighting: loss_i * exp(-s_i) + s_i."""

    def __init__(self, n):
        super().__init__()
        self.s = nn.Parameter(torch.zeros(n))

    def forward(self, *losses):
        return sum(l * torch.exp(-s) + s for l, s in zip(losses, self.s))


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(16, 5, generator=torch.Generator().manual_seed(7))
    x = torch.randn(n, 16, generator=g)
    depth = 60 * torch.tanh(x @ W[:, 0]) + 25 * torch.randn(n, generator=g)
    label = (x @ W[:, 1:]).argmax(1)
    return x, depth, label


def train(epochs=25, bs=50):
    torch.manual_seed(0)
    x, d, c = make(1000, 1)
    xv, dv, cv = make(500, 2)
    net, weighting = MultiTaskNet(), UncertaintyWeighting(2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)  # BUG param-not-in-optimizer
    for ep in range(epochs):
        net.train()
        for idx in torch.randperm(len(x)).split(bs):
            pd, pc = net(x[idx])
            l_depth = F.mse_loss(pd, d[idx])
            l_cls = F.cross_entropy(pc, c[idx])
            loss = weighting(l_depth, l_cls)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 8 == 0:
            print(f"{ep} depth {l_depth.item():.1f} cls {l_cls.item():.3f} s {weighting.s.tolist()}")
    net.eval()
    with torch.no_grad():
        pd, pc = net(xv)
    return F.mse_loss(pd, dv).sqrt().item(), (pc.argmax(1) == cv).float().mean().item()


rmse, acc = train()
print(f"final depth rmse {rmse:.2f} label acc {acc:.3f}")
