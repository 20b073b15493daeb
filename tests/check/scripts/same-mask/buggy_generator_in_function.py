"""Each call makes a generator with the same seed."""

import torch
from torch import nn

torch.manual_seed(0)


def hide(x, share=0.3, seed=7):
    generator = torch.Generator()
    generator.manual_seed(seed)  # <- finding
    return x * (torch.rand(x.shape, generator=generator) > share)


model = nn.Linear(5, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    x = torch.randn(4, 5)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(hide(x)), x)
    loss.backward()
    optimizer.step()
print(loss.item())
