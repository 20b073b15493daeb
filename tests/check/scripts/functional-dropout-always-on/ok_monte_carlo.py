"""Monte Carlo dropout: always on, on purpose, and many draws for the same input, in a loop or in one batch."""

import torch
import torch.nn.functional as F
from torch import nn


class Bayesian(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(2, 32)
        self.mean = nn.Linear(32, 1)

    def forward(self, x):
        return self.mean(F.dropout(torch.tanh(self.hidden(x)), p=0.1, training=True))


torch.manual_seed(0)
model = Bayesian()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(32, 2)
y = x[:, :1] * x[:, 1:]
for _ in range(5):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
grid = torch.linspace(-2, 2, 6).repeat(2, 1).T
with torch.no_grad():
    draws = torch.stack([model(grid) for _ in range(20)])
print(draws.mean(0).flatten().tolist(), draws.std(0).flatten().tolist())
