"""Adding problem with a hand-made recurrent cell."""
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(hidden, n_in) * 0.1)
        self.weight_hh = nn.Parameter(torch.randn(hidden, hidden) * 0.5)  # BUG exploding-gradient
        self.bias = nn.Parameter(torch.zeros(hidden))

    def forward(self, x, h):
        return torch.relu(x @ self.weight_ih.t() + h @ self.weight_hh.t() + self.bias)  # BUG exploding-gradient


class RNN(nn.Module):
    def __init__(self, n_in=2, hidden=32):
        super().__init__()
        self.cell = Cell(n_in, hidden)
        self.hidden = hidden
        self.readout = nn.Linear(hidden, 1)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.hidden)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        return self.readout(h)


def adding(n, length=20):
    value = torch.rand(n, length)
    marker = torch.zeros(n, length)
    for row in marker:
        row[torch.randperm(length)[:2]] = 1
    return torch.stack([value, marker], dim=2), (value * marker).sum(1, keepdim=True)


torch.manual_seed(0)
rnn = RNN()
optimizer = torch.optim.SGD(rnn.parameters(), lr=1e-3)
for step in range(12):
    x, y = adding(32)
    loss = nn.functional.smooth_l1_loss(rnn(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
