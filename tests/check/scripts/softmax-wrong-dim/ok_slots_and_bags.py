"""Slot attention (softmax over slots, then over inputs), attention over a bag of instances, and a pooled sequence."""

import torch
from torch import nn

torch.manual_seed(0)
q, k, v = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6)
slots = torch.randn(3, 6, requires_grad=True)
score, out = nn.Linear(6, 1), nn.Linear(6, 2)
params = [slots, *q.parameters(), *k.parameters(), *v.parameters(), *score.parameters(), *out.parameters()]
optimizer = torch.optim.Adam(params, lr=0.01)
x, y = torch.randn(4, 5, 6), torch.randint(0, 2, (4,))
bag, label = torch.randn(9, 6), torch.tensor([1])
for _ in range(3):
    logits = q(slots) @ k(x).transpose(1, 2)
    share = torch.softmax(logits, dim=1)
    share = share / (share.sum(dim=-1, keepdim=True) + 1e-8)
    updated = share @ v(x)
    pooled = (torch.softmax(score(x), dim=1) * x).sum(dim=1)
    instance = torch.softmax(score(bag), dim=0)
    whole = (instance * bag).sum(dim=0, keepdim=True)
    loss = nn.functional.cross_entropy(out(updated.mean(dim=1) + pooled), y) + nn.functional.cross_entropy(out(whole), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
