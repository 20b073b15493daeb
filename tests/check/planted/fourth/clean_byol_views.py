"""Self-distillation without negatives: online network, predictor, slow target, stop gradient."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(20, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 16))
predictor = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 16))
target = copy.deepcopy(encoder).requires_grad_(False)
opt = torch.optim.AdamW([*encoder.parameters(), *predictor.parameters()], lr=2e-3)
centers = torch.randn(5, 20)


def sample(n):
    y = torch.randint(0, 5, (n,))
    return centers[y] + 0.3 * torch.randn(n, 20), y


def view(x):
    return x * (torch.rand_like(x) > 0.2) + 0.2 * torch.randn_like(x)


for step in range(120):
    x, _ = sample(64)
    a, b = view(x), view(x)
    with torch.no_grad():
        ta, tb = target(a), target(b)
    loss = 2 - F.cosine_similarity(predictor(encoder(a)), tb).mean() - F.cosine_similarity(predictor(encoder(b)), ta).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, p in zip(target.parameters(), encoder.parameters()):
            t.lerp_(p, 0.03)
    if step % 40 == 39:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    (bank, bank_y), (query, query_y) = sample(200), sample(100)
    sim = F.normalize(encoder(query), dim=1) @ F.normalize(encoder(bank), dim=1).T
print("nearest neighbour accuracy", (bank_y[sim.argmax(1)] == query_y).float().mean().item())
