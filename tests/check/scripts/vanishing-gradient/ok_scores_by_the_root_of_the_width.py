"""Attention with a scale as it should be, one with a mask that leaves few elements, and one with a learned temperature."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).mT / x.shape[-1] ** 0.5
        h = torch.softmax(scores, -1) @ self.v(x)
        near = torch.ones(x.shape[1], x.shape[1]).tril().triu(-1).bool()
        h = h + torch.softmax(scores.masked_fill(~near, float("-inf")), -1) @ self.v(x)
        return h + torch.softmax(scores * self.log_scale.exp(), -1) @ self.v(x)


torch.manual_seed(0)
x = 2 * torch.randn(100, 8, 32)
y = x[:, :, 0].amax(1, keepdim=True)
attention, out = Attention(32), nn.Linear(32, 1)
optimizer = torch.optim.Adam([*attention.parameters(), *out.parameters()], lr=0.003)
for epoch in range(4):
    for rows in torch.randperm(100).split(20):
        loss = nn.functional.mse_loss(out(attention(x[rows]).mean(1)), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
