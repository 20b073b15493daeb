"""All pairwise differences, on purpose: the axes are put there on the same line."""

import torch

torch.manual_seed(0)
points = torch.randn(20, requires_grad=True)
optimizer = torch.optim.SGD([points], lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    gaps = points[:, None] - points[None, :]
    closeness = (-gaps.pow(2)).exp().sum()
    closeness.backward()
    optimizer.step()
same = points.unsqueeze(1) == points
print(closeness.item(), same.sum().item())
