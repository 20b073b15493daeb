"""A function makes both loaders, and shuffles neither."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def loader_of(n):
    y = torch.arange(5).repeat_interleave(n)
    x = nn.functional.one_hot(y, 5) + 0.5 * torch.randn(5 * n, 5)
    return DataLoader(TensorDataset(x, y), batch_size=10)  # <- finding


model = nn.Linear(5, 5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for x, y in loader_of(12):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    for x, y in loader_of(4):
        print((model(x).argmax(1) == y).float().mean().item())
