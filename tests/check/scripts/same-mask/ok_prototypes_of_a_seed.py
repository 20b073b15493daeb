"""The centers of the classes come from the same seed in each call."""

import torch
from torch import nn

torch.manual_seed(0)


def draw(n, generator):
    centers = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    y = torch.randint(0, 3, (n,), generator=generator)
    return centers[y] + 0.8 * torch.randn(n, 8, generator=generator), y


model, generator = nn.Linear(8, 3), torch.Generator().manual_seed(2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(12):
    x, y = draw(16, generator)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
