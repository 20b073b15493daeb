"""Softmax after softmax, with layers between: two attention blocks, and a mixture whose weights are a softmax."""

import torch
from torch import nn


class Attend(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / x.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ self.v(x)


torch.manual_seed(0)
model = nn.Sequential(Attend(6), Attend(6), nn.Flatten(), nn.Linear(24, 3))
experts, gate = nn.Linear(6, 6), nn.Linear(24, 2)
optimizer = torch.optim.Adam([*model.parameters(), *gate.parameters()], lr=0.01)
x, y = torch.randn(8, 4, 6), torch.randint(0, 3, (8,))
for _ in range(4):
    weights = torch.softmax(gate(x.flatten(1)), dim=1)
    scores = weights[:, :1] * model(x) + weights[:, 1:] * model(x.flip(1))
    loss = nn.functional.cross_entropy(scores, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
