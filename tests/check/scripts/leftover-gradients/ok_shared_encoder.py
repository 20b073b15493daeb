"""Two tasks share an encoder whose optimizer steps once, with the gradients of both losses."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
opt_encoder = torch.optim.SGD(encoder.parameters(), lr=0.01)
opt_first = torch.optim.SGD(heads[0].parameters(), lr=0.01)
opt_second = torch.optim.SGD(heads[1].parameters(), lr=0.01)
x = torch.randn(32, 4)
for step in range(6):
    for optimizer in (opt_encoder, opt_first, opt_second):
        optimizer.zero_grad()
    hidden = encoder(x)
    first = (heads[0](hidden) - x[:, :1]).pow(2).mean()
    first.backward(retain_graph=True)
    opt_first.step()
    second = (heads[1](hidden) - x[:, 1:2]).pow(2).mean()
    second.backward()
    opt_second.step()
    opt_encoder.step()
print(first.item(), second.item())
