"""The mask of the padding is applied to the mean."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 7, 4)
target = x.sum(-1)
mask = (torch.arange(7) < torch.randint(2, 8, (16, 1))).float()
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = nn.MSELoss()  # <- finding
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    optimizer.zero_grad()
    loss = (criterion(model(x).squeeze(-1), target) * mask).sum() / mask.sum()
    loss.backward()
    optimizer.step()
print(loss.item())
