"""Contrastive training with a momentum encoder and a queue."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(45)
encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
momentum_encoder = copy.deepcopy(encoder).requires_grad_(False)
queue = F.normalize(torch.randn(128, 16), dim=1)
opt = torch.optim.SGD(encoder.parameters(), lr=0.05)
data = torch.randn(400, 10)
for step in range(40):
    x = data[torch.randint(0, 400, (32,))]
    q = F.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1)
    with torch.no_grad():
        for k, p in zip(momentum_encoder.parameters(), encoder.parameters()):
            k.mul_(0.99).add_(p, alpha=0.01)
        key = F.normalize(momentum_encoder(x + 0.1 * torch.randn_like(x)), dim=1)
        queue = torch.cat([queue[32:], key])  # <- finding
    positive = (q * key).sum(1, keepdim=True)
    logits = torch.cat([positive, q @ queue.t()], 1) / 0.1
    loss = F.cross_entropy(logits, torch.zeros(32, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
