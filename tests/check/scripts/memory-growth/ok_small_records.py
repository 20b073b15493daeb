"""Small records of each step: losses, norms, the path of two numbers; copies of the weights now and then."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(32, 16)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses, path, copies = [], [], []
for step in range(30):
    loss = (model(torch.randn(16, 32)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
    path.append(model.weight.detach()[0, :2].clone())
    if step % 10 == 0:
        copies.append({name: p.detach().clone() for name, p in model.named_parameters()})
print(torch.stack(losses).mean().item(), len(path), len(copies))
