"""Softmax over both axes of a similarity, soft clusters that pool the nodes of a graph, and capsules that vote."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
left, right, assign = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 3)
votes = nn.Linear(6, 8)
optimizer = torch.optim.Adam([*left.parameters(), *right.parameters(), *assign.parameters(), *votes.parameters()], lr=0.01)
a = torch.randn(7, 4)
for _ in range(3):
    x, z = left(a), right(a)
    similarity = x @ z.T
    rows, columns = similarity.softmax(dim=1), similarity.softmax(dim=0)
    loss = -(rows[torch.arange(7), torch.arange(7)].log() + columns[torch.arange(7), torch.arange(7)].log()).mean()
    clusters = torch.softmax(assign(x), dim=-1)
    pooled = clusters.T @ x
    votes_of = votes(x).view(7, 2, 4)
    agreement = torch.zeros(7, 2)
    for _ in range(2):
        coupling = torch.softmax(agreement, dim=1)
        capsule = (coupling.unsqueeze(-1) * votes_of).sum(dim=0)
        agreement = agreement + (votes_of * capsule).sum(dim=-1)
    loss = loss + F.mse_loss(pooled, torch.zeros(3, 6)) + capsule.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
