"""The two best scores are compared with the label."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x = torch.randn(240, 6)
y = x[:, :4].argmax(1)
for _ in range(6):
    rows = torch.randint(0, 200, (40,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        best = model(x[200:]).topk(2, dim=1).values  # <- finding
        print((best == y[200:, None].expand(-1, 2)).any(1).float().mean().item())
