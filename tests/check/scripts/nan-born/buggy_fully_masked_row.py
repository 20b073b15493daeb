"""Attention by hand with -inf masks, and a query that may look at nothing."""

import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, visible):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / math.sqrt(x.shape[-1])
        scores = scores.masked_fill(~visible, float("-inf"))  # <- finding
        return scores.softmax(dim=-1) @ self.v(x)


torch.manual_seed(0)
attention, out = Attention(6), nn.Linear(6, 1)
optimizer = torch.optim.SGD([*attention.parameters(), *out.parameters()], lr=0.05)
x, y = torch.randn(3, 4, 6), torch.randn(3, 4, 1)
lengths = torch.tensor([4, 2, 0])
visible = (torch.arange(4) < lengths.unsqueeze(1)).unsqueeze(1).expand(3, 4, 4)
for step in range(3):
    loss = ((out(attention(x, visible)) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
