"""Gradients that are stopped on purpose: targets of Q-learning, SimSiam, straight-through rounding, an online probe, a GAN's fakes."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder, predictor, probe = nn.Linear(6, 4), nn.Linear(4, 4), nn.Linear(4, 2)
q = nn.Linear(6, 3)
modules = [encoder, predictor, probe, q]
optimizer = torch.optim.Adam([p for m in modules for p in m.parameters()], lr=0.01)
for _ in range(5):
    a, b = torch.randn(8, 6), torch.randn(8, 6)
    za, zb = encoder(a), encoder(b)
    similarity = F.cosine_similarity(predictor(za), zb.detach()).mean()
    probed = F.cross_entropy(probe(za.detach()), (a.sum(1) > 0).long())
    rounded = za + (za.round() - za).detach()
    with torch.no_grad():
        target = 1 + 0.9 * q(b).max(1).values
    chosen = q(a).gather(1, q(a).argmax(1, keepdim=True)).squeeze(1)
    loss = -similarity + probed + rounded.pow(2).mean() + F.mse_loss(chosen, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (probe(za).argmax(1) == (a.sum(1) > 0)).float().mean().item()

G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
for _ in range(3):
    fake = G(torch.randn(8, 2))
    opt_d.zero_grad()
    (D(fake.detach()).mean() - D(torch.randn(8, 2)).mean()).backward()
    opt_d.step()
    opt_g.zero_grad()
    (-D(fake).mean()).backward()
    opt_g.step()
print(loss.item(), accuracy)
