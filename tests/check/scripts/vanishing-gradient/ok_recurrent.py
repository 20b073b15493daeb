"""An nn.RNN that is trained at every time step, one over a short sequence, and a GRU over a long one."""

import torch
from torch import nn

torch.manual_seed(0)
every, short, gru = (kind(3, 12, batch_first=True) for kind in (nn.RNN, nn.RNN, nn.GRU))
heads = nn.ModuleList(nn.Linear(12, 1) for _ in range(3))
parameters = [p for m in (every, short, gru, heads) for p in m.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)
x = torch.randn(8, 60, 3)
for step in range(4):
    a = heads[0](every(x)[0]).squeeze(-1)
    b = heads[1](short(x[:, :20])[0][:, -1]).squeeze(-1)
    c = heads[2](gru(x)[1][0]).squeeze(-1)
    loss = (a - x.mean(dim=2)).pow(2).mean() + (b - x[:, 19, 0]).pow(2).mean() + (c - x[:, -1, 0]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
