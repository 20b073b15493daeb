"""Link prediction in a small random graph with mean-aggregation layers."""

from functools import partial

import torch
from torch import nn


def make_mlp(sizes, hidden=nn.Tanh, last=nn.Sigmoid):
    layers = []
    for k, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers += [nn.Linear(a, b), (hidden if k < len(sizes) - 2 else last)()]
    return nn.Sequential(*layers)


class LinkModel(nn.Module):
    def __init__(self, features, width=24):
        super().__init__()
        self.encode = make_mlp([2 * features, width, width], last=nn.Identity)
        self.score = make_mlp([width, width, 1])  # <- finding

    def forward(self, x, adjacency, pairs):
        degree = adjacency.sum(1, keepdim=True).clamp(min=1)
        z = self.encode(torch.cat([x, adjacency @ x / degree], dim=1))
        return self.score(z[pairs[0]] * z[pairs[1]]).squeeze(1)


torch.manual_seed(0)
nodes = 120
block = torch.randint(0, 3, (nodes,))
together = block[:, None] == block[None, :]
chance = torch.where(together, 0.3, 0.03)
upper = torch.triu(torch.rand(nodes, nodes) < chance, diagonal=1)
x = nn.functional.one_hot(block, 3).float() + torch.randn(nodes, 3)

# 70% of all node pairs for training; only their edges are visible to the network
i, j = torch.triu_indices(nodes, nodes, offset=1)
order = torch.randperm(len(i))
cut = int(0.7 * len(order))
train, test = order[:cut], order[cut:]
edge = upper[i, j].float()
adjacency = torch.zeros(nodes, nodes)
adjacency[i[train], j[train]] = edge[train]
adjacency = adjacency + adjacency.T

model = LinkModel(3)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = partial(nn.functional.binary_cross_entropy_with_logits, reduction="mean")
for step in range(120):
    pick = train[torch.randint(0, cut, (512,))]
    loss = loss_fn(model(x, adjacency, (i[pick], j[pick])), edge[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 29:
        print(f"step {step + 1} loss {loss.item():.4f}")
with torch.no_grad():
    s = model(x, adjacency, (i[test], j[test]))
pos, neg = s[edge[test] == 1], s[edge[test] == 0]
print("test auc", (pos[:, None] > neg[None, :]).float().mean().item())
