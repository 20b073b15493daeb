"""A scale is made by `torch.empty` and never initialised, and what stands there is huge."""

import ctypes

import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(4, 8))
        self.scale = nn.Parameter(torch.empty(8))  # <- finding
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return torch.tanh(x @ self.weight) * torch.sigmoid(self.scale)


torch.manual_seed(0)
x = torch.randn(40, 4)
model = nn.Sequential(Scaled(), nn.Linear(8, 1))
ctypes.memset(model[0].scale.data_ptr(), 0x7F, 32)  # as if this had stood in memory
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for rows in torch.arange(40).split(10):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[rows]), x[rows].sum(1, keepdim=True)).backward()
    optimizer.step()
