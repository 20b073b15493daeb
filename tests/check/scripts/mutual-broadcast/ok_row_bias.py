"""A bias per feature and a scale per sample: one operand grows, the other does not."""

import torch

torch.manual_seed(0)
x = torch.randn(4, 3)
bias = torch.zeros(3, requires_grad=True)
scale = torch.ones(4, 1, requires_grad=True)
optimizer = torch.optim.SGD([bias, scale], lr=0.1)
for _ in range(5):
    out = (x + bias) * scale
    loss = out.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
square = torch.randn(3, 4) + torch.randn(4)
print(loss.item(), square.shape)
