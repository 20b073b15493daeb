"""Mean teacher: semi-supervised learning with an EMA of the student."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


def moons(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 3.1416
    x = torch.stack([a.cos() + y, (1 - 2 * y) * a.sin() + 0.5 * y], 1)
    return x + 0.1 * torch.randn(n, 2), y


@torch.no_grad()
def ema_update(teacher, student, decay):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


torch.manual_seed(0)
student = nn.Sequential(nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 2))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
xl, yl = moons(40)
for step in range(250):
    xu, _ = moons(64)
    with torch.no_grad():
        target = teacher(xu + 0.05 * torch.randn_like(xu)).softmax(1)
    out = student(xu + 0.05 * torch.randn_like(xu))
    loss = F.cross_entropy(student(xl), yl) + 0.5 * (out.softmax(1) - target).pow(2).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema_update(teacher, student, 0.95)
x, y = moons(500)
with torch.no_grad():
    print("teacher acc", (teacher(x).argmax(1) == y).float().mean().item())
