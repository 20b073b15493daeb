"""A recurrent cell from scratch for sums of sequences."""

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.w_in = nn.Parameter(torch.randn(inputs, hidden) * 0.3)
        self.w_rec = nn.Parameter(torch.randn(hidden, hidden))  # BUG exploding-gradient
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, x, h):
        return torch.relu(x @ self.w_in + h @ self.w_rec + self.bias)


class RNN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.cell, self.read = Cell(2, hidden), nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, x):
        h = x.new_zeros(len(x), self.hidden)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        return self.read(h)


torch.manual_seed(0)
model = RNN()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(8):
    x = torch.randn(32, 20, 2)
    loss = nn.functional.mse_loss(model(x), x.sum((1, 2))[:, None])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("gradient", max(p.grad.abs().max().item() for p in model.parameters()))
