"""Two-view contrastive training with a learnable temperature."""
import torch
from torch import nn
import torch.nn.functional as F


class ClipLike(nn.Module):
    def __init__(self, d_a, d_b, d=16):
        super().__init__()
        self.a = nn.Linear(d_a, d)
        self.b = nn.Linear(d_b, d)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def clamp_scale(self):
        with torch.no_grad():
            self.scale.clamp_(0, 4.6)

    def forward(self, xa, xb):
        self.clamp_scale()
        za = F.normalize(self.a(xa), dim=-1)
        zb = F.normalize(self.b(xb), dim=-1)
        return self.scale.exp() * za @ zb.t()


def clip_loss(logits):
    target = torch.arange(len(logits))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def pairs(n, mix_a, mix_b):
    z = torch.randn(n, 6)
    return z @ mix_a + 0.1 * torch.randn(n, 20), z @ mix_b + 0.1 * torch.randn(n, 12)


torch.manual_seed(0)
mix_a, mix_b = torch.randn(6, 20), torch.randn(6, 12)
model = ClipLike(20, 12)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(100):
    loss = clip_loss(model(*pairs(48, mix_a, mix_b)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 24:
        print(step, loss.item(), model.scale.exp().item())
