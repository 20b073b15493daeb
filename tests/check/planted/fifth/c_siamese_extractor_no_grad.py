"""Siamese similarity of noisy fingerprints."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 8))
        self.scale = nn.Parameter(torch.tensor(3.0))
        self.bias = nn.Parameter(torch.tensor(-1.0))

    @torch.no_grad()  # BUG gradient-cut
    def embed(self, x):
        return F.normalize(self.encoder(x), dim=1)

    def forward(self, a, b):
        return self.scale * (self.embed(a) * self.embed(b)).sum(1) + self.bias


def pairs(n, prototypes):
    ida = torch.randint(0, len(prototypes), (n,))
    same = torch.rand(n) < 0.5
    idb = torch.where(same, ida, torch.randint(0, len(prototypes), (n,)))
    nuisance = 3.0 * torch.randn(2, n, 10)
    a = torch.cat([prototypes[ida] + 0.2 * torch.randn(n, 10), nuisance[0]], 1)
    b = torch.cat([prototypes[idb] + 0.2 * torch.randn(n, 10), nuisance[1]], 1)
    return a, b, (ida == idb).float()


torch.manual_seed(6)
proto = torch.randn(12, 10)
model = Siamese()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(500):
    a, b, same = pairs(128, proto)
    loss = F.binary_cross_entropy_with_logits(model(a, b), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 125 == 124:
        print(f"step {step + 1} loss {loss.item():.4f}")
with torch.no_grad():
    a, b, same = pairs(2000, proto)
    print(f"pair accuracy {((model(a, b) > 0).float() == same).float().mean():.3f}")
