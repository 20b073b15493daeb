"""Centre loss with class means of the batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

K = 12


def class_means(z, y):
    sums = z.new_zeros(K, z.shape[1]).index_add(0, y, z)
    counts = torch.bincount(y, minlength=K).unsqueeze(1)
    return sums / counts.clamp(min=1)


def spread_loss(means, margin=2.0):
    d = torch.cdist(means, means) + margin * torch.eye(K)
    return F.relu(margin - d).mean()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 8))
        self.cls = nn.Linear(8, K)

    def forward(self, x):
        z = self.f(x)
        return z, self.cls(z)


torch.manual_seed(0)
protos = torch.randn(K, 16)
net = Embedder()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(250):
    y = torch.randint(0, K, (48,))
    z, out = net(protos[y] + 0.5 * torch.randn(48, 16))
    means = class_means(z, y)
    compact = (z - means[y]).pow(2).sum(1).mean()
    loss = F.cross_entropy(out, y) + 0.01 * compact + 0.1 * spread_loss(means)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    y = torch.randint(0, K, (500,))
    _, out = net(protos[y] + 0.5 * torch.randn(500, 16))
    print("loss", loss.item(), "acc", (out.argmax(1) == y).float().mean().item())
