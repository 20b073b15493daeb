"""Domain-adversarial training with a gradient reversal layer."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


torch.manual_seed(0)
feat = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 8))
label, domain = nn.Linear(8, 2), nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam([*feat.parameters(), *label.parameters(), *domain.parameters()], lr=3e-3)


def draw(n, shift):
    x = torch.randn(n, 6)
    y = (x[:, 0] > x[:, 1]).long()
    x[:, 5] += shift
    return x, y


for step in range(250):
    lam = min(1.0, step / 150) * 0.3
    xs, ys = draw(48, 0.0)
    xt, _ = draw(48, 3.0)
    hs, ht = feat(xs), feat(xt)
    d_out = domain(Reverse.apply(torch.cat([hs, ht]), lam))
    d_lab = torch.cat([torch.zeros(48), torch.ones(48)]).long()
    loss = F.cross_entropy(label(hs), ys) + F.cross_entropy(d_out, d_lab)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = draw(500, 3.0)
    print("target acc", (label(feat(x)).argmax(1) == y).float().mean().item())
