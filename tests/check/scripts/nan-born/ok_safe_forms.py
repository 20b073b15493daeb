"""The same computations made safe: clamped logarithms, where around the argument, a small number under the root, counts of at least one."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(10, 3)
mask = torch.rand(10, 3) > 0.6
mask[4] = False
missing = torch.tensor([1.0, float("nan"), 2.0])
for step in range(4):
    out = model(x)
    positive = torch.relu(out)
    safe = torch.where(positive > 0, positive, torch.ones_like(positive))
    logs = torch.where(positive > 0, safe.log(), torch.zeros_like(positive))
    distance = ((out - out.detach()) ** 2).sum(dim=1).add(1e-8).sqrt()
    mean = (out * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    entropy = -(out.softmax(1) * out.softmax(1).clamp_min(1e-12).log()).sum(1)
    loss = logs.mean() + distance.mean() + mean.pow(2).mean() + entropy.mean() + (out[0] - missing.nan_to_num()).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), missing.nanmean().item())
