"""Feature distillation by matching pooled feature maps."""
import torch
from torch import nn


class Feat(nn.Module):
    def __init__(self, width, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, out, 3, padding=1))
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        return self.pool(self.net(x))


def images(n):
    return torch.randn(n, 1, 8, 8) * (0.3 + 2 * torch.rand(n, 1, 1, 1)) + torch.randn(n, 1, 1, 1)


torch.manual_seed(0)
teacher = Feat(24).requires_grad_(False).eval()
student = Feat(8)
crit = nn.MSELoss()
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for step in range(200):
    x = images(16)
    with torch.no_grad():
        target = teacher(x).flatten(1)
    loss = crit(student(x), target)  # BUG loss-shape-mismatch
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x = images(200)
    t = teacher(x).flatten(1)
    print("relative error", ((student(x).flatten(1) - t).pow(2).mean() / t.var(0).mean()).item())
