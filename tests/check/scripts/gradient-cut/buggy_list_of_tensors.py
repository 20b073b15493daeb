"""A tensor made of a list of tensors."""

import torch
from torch import nn

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 8)
        self.w = nn.Linear(8, 1)
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        parts = [self.w(torch.tanh(self.enc(x[:, k]))).mean() for k in range(3)]
        s = torch.tensor([p for p in parts])  # <- finding
        return self.head(s)


m = M()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
for step in range(20):
    x = torch.randn(16, 3, 4)
    loss = (m(x) - x.mean()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
