"""Parameters made of fresh memory that are written before training: by init, by a copy, by a fill, by a loaded state."""

import torch
from torch import nn


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.empty(4, 8))
        self.b = nn.Parameter(torch.empty(8))
        self.c = nn.Parameter(torch.Tensor([1.0, 2.0]))
        self.d = nn.Parameter(torch.Tensor(8))
        self.e = nn.Parameter(torch.empty(8).fill_(0.5))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.a)
        with torch.no_grad():
            self.b.copy_(torch.zeros(8))
        self.d.data.uniform_(-1, 1)

    def forward(self, x):
        return (x @ self.a + self.b) * self.d * self.e * self.c.sum()


class Loaded(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.empty(8))

    def forward(self, x):
        return x + self.shift


torch.manual_seed(0)
x = torch.randn(40, 4)
loaded = Loaded()
loaded.load_state_dict({"shift": torch.zeros(8)})
model = nn.Sequential(Mixed(), loaded, nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for rows in torch.arange(40).split(10):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[rows]), x[rows].sum(1, keepdim=True)).backward()
    optimizer.step()
