"""A mixture of softmaxes, which no single softmax gives away."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class MoS(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.gate = nn.Linear(6, k)
        self.experts = nn.Linear(6, k * 4)
        self.k = k

    def forward(self, x):
        pi = F.softmax(self.gate(x), -1)
        p = F.softmax(self.experts(x).view(-1, self.k, 4), -1)
        return torch.einsum("bk,bkc->bc", pi, p)


m = MoS()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
X = torch.randn(128, 6)
Y = X[:, :4].argmax(1)
for step in range(30):
    loss = F.cross_entropy(m(X), Y)  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
