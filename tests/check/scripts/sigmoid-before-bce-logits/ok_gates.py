"""Sigmoids inside the model: gated features and a squeeze-and-excitation, whose results go through another layer."""

import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.value, self.gate, self.out = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 1)
        self.scale = nn.Linear(6, 1)

    def forward(self, x):
        h = self.value(x) * torch.sigmoid(self.gate(x))
        return self.out(h) * torch.sigmoid(self.scale(x))


torch.manual_seed(0)
model = Gated()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 6), torch.randint(0, 2, (16, 1)).float()
for _ in range(5):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
