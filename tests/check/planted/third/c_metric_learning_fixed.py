import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 8, bias=False))

    def forward(self, x):
        return self.net(x)


def pairwise_distance(z):
    diff = z[:, None, :] - z[None, :, :]
    return ((diff ** 2).sum(-1) + 1e-8).sqrt()


def contrastive_loss(z, y, margin=2.0):
    dist = pairwise_distance(z)
    same = (y[:, None] == y[None, :]).float()
    pull = same * dist ** 2
    push = (1 - same) * F.softplus(margin - dist) ** 2
    return (pull + push).mean()


centers = torch.randn(6, 12)
labels = torch.randint(0, 6, (600,))
points = centers[labels] + 0.7 * torch.randn(600, 12)

model = Embedder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    idx = torch.randint(0, 500, (48,))
    loss = contrastive_loss(model(points[idx]), labels[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step}: {loss.item():.4f}")

with torch.no_grad():
    gallery, query = model(points[:500]), model(points[500:])
    nearest = torch.cdist(query, gallery).argmin(1)
print("1-nn accuracy", (labels[:500][nearest] == labels[500:]).float().mean().item())
