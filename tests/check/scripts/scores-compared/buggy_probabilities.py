"""A probability is compared with the label."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x = torch.randn(240, 6)
y = (x[:, 0] > 0).long()
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows])[:, 0], y[rows].float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        probability = model(x[200:])[:, 0].sigmoid()
        print((probability == y[200:]).float().mean().item())  # <- finding
