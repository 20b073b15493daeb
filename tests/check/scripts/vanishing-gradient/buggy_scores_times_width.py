"""The scores of attention are multiplied by the width where they should be divided by its root: each softmax chooses one element alone."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-1, -2) * self.d  # <- finding
        return torch.softmax(scores, -1) @ self.v(x)


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
