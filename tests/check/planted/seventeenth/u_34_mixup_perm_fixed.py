import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)
protos = torch.randn(6, 1, 6, 6)


def batch(n=64):
    y = torch.randint(0, 6, (n,))
    return protos[y] + 0.6 * torch.randn(n, 1, 6, 6), y


def mixup(x, y, alpha=1.0):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    perm = torch.randperm(len(x))
    mixed = lam * x + (1 - lam) * x[perm]
    return mixed, y, y[perm], lam


net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(288, 6))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(150):
    net.train()
    x, y = batch()
    mixed, ya, yb, lam = mixup(x, y)
    out = net(mixed)
    loss = lam * F.cross_entropy(out, ya) + (1 - lam) * F.cross_entropy(out, yb)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        net.eval()
        with torch.no_grad():
            xv, yv = batch(200)
            print(step, loss.item(), F.cross_entropy(net(xv), yv).item())
