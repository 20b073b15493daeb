"""Self-supervised learning with a momentum encoder that is never trained by gradients and runs in train mode under no_grad."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
target = copy.deepcopy(encoder)
for p in target.parameters():
    p.requires_grad = False
predictor = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
optimizer = torch.optim.Adam([*encoder.parameters(), *predictor.parameters()], lr=0.003)
data = torch.randn(64, 12)


def loss_of(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


for step in range(12):
    x = data[torch.randperm(64)[:32]]
    a, b = x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)
    with torch.no_grad():
        target_a, target_b = target(a), target(b)
    loss = loss_of(predictor(encoder(a)), target_b) + loss_of(predictor(encoder(b)), target_a)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), encoder.parameters()):
            slow.mul_(0.99).add_(fast, alpha=0.01)
    print(step, loss.item())
with torch.no_grad():
    features = F.normalize(encoder(data), dim=1)
    similarity = features @ features.t()
    contrastive = F.cross_entropy(similarity / 0.1, torch.arange(64))
