"""Attention over neighbours; some nodes have none."""

import torch
from torch import nn


class GraphAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin, self.att = nn.Linear(dim, dim), nn.Linear(2 * dim, 1)

    def forward(self, x, adjacency):
        h = self.lin(x)
        n = len(h)
        pairs = torch.cat([h[:, None].expand(n, n, -1), h[None].expand(n, n, -1)], -1)
        scores = self.att(pairs)[..., 0]
        scores = scores.masked_fill(~adjacency, float("-inf"))  # <- finding
        return torch.softmax(scores, dim=1) @ h


torch.manual_seed(0)
layer, head = GraphAttention(6), nn.Linear(6, 2)
opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(20, 6)
adjacency = torch.rand(20, 20) < 0.15
adjacency[3] = False
y = (x[:, 0] > 0).long()
for step in range(6):
    loss = nn.functional.cross_entropy(head(torch.relu(layer(x, adjacency))), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
