# Metric learning: pull rows of the same class together
import torch
from torch import nn

torch.manual_seed(16)
x = torch.randn(120, 8)
label = (x[:, 0] > 0).long()
embed = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-3)
for step in range(20):
    rows = torch.randperm(120)[:24]
    z, y = embed(x[rows]), label[rows]
    diff = z.unsqueeze(1) - z.unsqueeze(0)
    dist = diff.pow(2).sum(-1).clamp(min=1e-12).sqrt()
    same = y.unsqueeze(1) == y.unsqueeze(0)
    loss = dist[same].mean() + torch.relu(2 - dist[~same]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
