"""A memory bank and a cache in buffers are written in place every step; scores are masked before the softmax; parts are collected and
stacked."""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query, self.key = nn.Linear(size, size), nn.Linear(size, size)
        self.register_buffer("bank", torch.zeros(16, size))
        self.pointer = 0

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores.masked_fill_(mask, float("-inf"))
        mixed = scores.softmax(-1) @ x
        with torch.no_grad():
            self.bank[self.pointer : self.pointer + 4] = mixed[:4].mean(1)
        self.pointer = (self.pointer + 4) % 16
        return torch.stack([mixed[:, t].tanh() for t in range(x.shape[1])], dim=1)


torch.manual_seed(0)
model, head = Attention(6), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
for step in range(5):
    x = torch.randn(4, 5, 6)
    loss = F.mse_loss(head(model(x)), x.mean(-1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print(loss.item(), model.bank.norm().item())
