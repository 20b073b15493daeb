import torch
import torch.nn.functional as F
from torch import nn


class ProxyLoss(nn.Module):
    """Normalised softmax with learnable class proxies and temperature."""

    def __init__(self, n_classes, dim):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(n_classes, dim))
        self.log_scale = nn.Parameter(torch.tensor(0.0))

    def forward(self, emb, labels):
        sim = F.normalize(emb, dim=1) @ F.normalize(self.proxies, dim=1).t()
        return F.cross_entropy(self.log_scale.exp() * sim, labels)


torch.manual_seed(0)
centres = torch.randn(10, 16)
labels = torch.randint(0, 10, (600,))
feats = centres[labels] + 0.7 * torch.randn(600, 16)

encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = ProxyLoss(10, 8)
optimizer = torch.optim.Adam([*encoder.parameters(), *criterion.parameters()], lr=1e-2)

for epoch in range(10):
    perm = torch.randperm(600)
    total = 0.0
    for chunk in perm.split(60):
        loss = criterion(encoder(feats[chunk]), labels[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 10:.4f} scale {criterion.log_scale.exp().item():.3f}")
