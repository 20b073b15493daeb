"""Rare-event detection with a generic MLP builder."""
from functools import partial
import torch
from torch import nn


def mlp(*sizes, act=nn.ReLU, out_act=nn.Identity):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers += [nn.Linear(a, b), (act if i < len(sizes) - 2 else out_act)()]
    return nn.Sequential(*layers)


torch.manual_seed(3)
x = torch.randn(1500, 5)
y = (x[:, 0] + x[:, 1] > 2.2).float()
criterion = partial(nn.functional.binary_cross_entropy_with_logits, reduction="mean")

detector = mlp(5, 32, 1)
opt = torch.optim.Adam(detector.parameters(), lr=1e-2)
for epoch in range(20):
    for idx in torch.randperm(len(x)).split(100):
        loss = criterion(detector(x[idx]).squeeze(-1), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 0:
        print(epoch, f"loss {loss.item():.4f}")

with torch.no_grad():
    score = detector(x).squeeze(-1)
    full = criterion(score, y).item()
    flagged = (score > 0).float().mean().item()
print(f"loss {full:.4f}  flagged {flagged:.3f}  true rate {y.mean():.3f}")
