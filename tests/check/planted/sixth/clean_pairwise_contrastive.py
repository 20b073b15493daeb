import torch
import torch.nn as nn

torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(enc.parameters(), lr=5e-3)
centers = torch.randn(4, 10) * 2


def draw(n):
    y = torch.randint(0, 4, (n,))
    return centers[y] + torch.randn(n, 10), y


def contrastive(z, y, margin=2.0):
    # (N,1,D) - (1,N,D): all pairs, wanted
    d2 = (z[:, None] - z[None]).pow(2).sum(-1)
    same = (y[:, None] == y[None]).float()
    off = 1 - torch.eye(len(y))
    dist = (d2 + 1e-8).sqrt()
    pull = (same * off * d2).sum() / (same * off).sum().clamp(min=1)
    push = ((1 - same) * (margin - dist).clamp(min=0).pow(2)).sum() / (1 - same).sum().clamp(min=1)
    return pull + push


for it in range(200):
    x, y = draw(32)
    loss = contrastive(enc(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
xa, ya = draw(200)
xq, yq = draw(200)
with torch.no_grad():
    near = torch.cdist(enc(xq), enc(xa)).argmin(1)
print("loss", round(loss.item(), 4), "1-NN accuracy", (ya[near] == yq).float().mean().item())
