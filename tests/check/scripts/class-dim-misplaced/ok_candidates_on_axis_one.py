"""Scores (batch, candidates, slots): the layer mixes slots, the classes are the candidates on axis 1."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
mix, score = nn.Linear(7, 4), nn.Linear(6, 1)
optimizer = torch.optim.SGD([*mix.parameters(), *score.parameters()], lr=0.1)
x, y = torch.randn(5, 3, 7), torch.randint(0, 3, (5, 4))
options, answer = torch.randn(5, 4, 6), torch.randint(0, 4, (5,))
for _ in range(3):
    loss = F.cross_entropy(mix(x), y) + F.cross_entropy(score(options).squeeze(-1), answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    right = (score(options).argmax(dim=1).squeeze(-1) == answer).float().mean()
print(loss.item(), right.item())
