"""A matching with softmax over rows and over columns, and prototypes whose assignments are sharpened with a temperature."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
left, right = nn.Linear(5, 8), nn.Linear(5, 8)
optimizer = torch.optim.SGD([*left.parameters(), *right.parameters()], lr=0.1)
a = torch.randn(6, 5)
b = a + 0.1 * torch.randn(6, 5)
for _ in range(4):
    scores = F.normalize(left(a), dim=1) @ F.normalize(right(b), dim=1).T / 0.1
    match = scores.softmax(dim=0) * scores.softmax(dim=1)
    sharper = (match.detach() / 0.5).softmax(dim=1)
    loss = -(sharper * torch.log(match + 1e-6)).sum(dim=1).mean() + F.cross_entropy(scores, torch.arange(6))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
