"""Mixture of experts; the gate weighs the experts for every token."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore", message="Implicit dimension")


class Mixture(nn.Module):
    def __init__(self, dim=8, experts=4):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))
        self.gate = nn.Linear(dim, experts)

    def forward(self, x):
        weights = F.softmax(self.gate(x))  # BUG softmax-wrong-dim
        outs = torch.stack([e(x) for e in self.experts], dim=-1)
        return (outs * weights.unsqueeze(-2)).sum(-1)


torch.manual_seed(0)
model = Mixture()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    x = torch.randn(6, 5, 8)
    y = torch.where(x[..., :1] > 0, x, -x)
    loss = F.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3))
