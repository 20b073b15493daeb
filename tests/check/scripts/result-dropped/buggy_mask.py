"""The mask of later positions is never applied."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 5, 4)
y = x.cumsum(1)[..., :1]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4) for _ in range(3))
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 2
        hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
        scores.masked_fill(hidden, float("-inf"))  # <- finding
        return self.out(scores.softmax(-1) @ self.v(x))


model = Attention()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
