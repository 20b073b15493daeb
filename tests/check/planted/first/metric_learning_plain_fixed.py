"""Triplet embedding of noisy classes."""
import torch
import torch.nn as nn

torch.manual_seed(0)
centers = torch.randn(6, 12)


def triplets(n):
    a = torch.randint(0, 6, (n,))
    b = (a + torch.randint(1, 6, (n,))) % 6
    jitter = lambda c: centers[c] + 0.7 * torch.randn(n, 12)
    return jitter(a), jitter(a), jitter(b)


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return nn.functional.normalize(self.f(x), dim=1)


net = Embed()
criterion = nn.TripletMarginLoss(margin=0.5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(200):
    anchor, pos, neg = (net(z) for z in triplets(64))
    loss = criterion(anchor, pos, neg)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    a, p, n = (net(z) for z in triplets(500))
    good = ((a - p).norm(dim=1) < (a - n).norm(dim=1)).float().mean()
print(f"triplet accuracy {good:.3f} loss {loss.item():.3f}")
