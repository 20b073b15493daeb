"""BYOL-like self-supervision, then a linear probe on frozen features."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
centers = 2 * torch.randn(4, 12)
online = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 16))
predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
target = copy.deepcopy(online).requires_grad_(False)
opt = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=2e-3)


def draw(n):
    y = torch.randint(0, 4, (n,))
    return centers[y] + 0.5 * torch.randn(n, 12), y


def view(x):
    return x + 0.3 * torch.randn_like(x)


for step in range(150):
    x, _ = draw(64)
    p = F.normalize(predictor(online(view(x))), dim=1)
    with torch.no_grad():
        z = F.normalize(target(view(x)), dim=1)
    loss = (2 - 2 * (p * z).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.mul_(0.97).add_(0.03 * o)
online.eval()
probe = nn.Linear(16, 4)
popt = torch.optim.Adam(probe.parameters(), lr=2e-2)
for step in range(100):
    x, y = draw(64)
    with torch.no_grad():
        h = online(x)
    ce = F.cross_entropy(probe(h), y)
    popt.zero_grad()
    ce.backward()
    popt.step()
with torch.no_grad():
    x, y = draw(500)
    print("byol loss", loss.item(), "probe acc", (probe(online(x)).argmax(1) == y).float().mean().item())
