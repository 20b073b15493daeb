"""The condition on the dimensions is the wrong way around."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 1))
decay = [p for p in model.parameters() if p.ndim < 2]
rest = [p for p in model.parameters() if p.ndim >= 2]
optimizer = torch.optim.AdamW(
    [
        {"params": decay, "weight_decay": 0.1},  # <- finding
        {"params": rest, "weight_decay": 0.0},
    ],
    lr=1e-2,
)
x = torch.randn(20, 4)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    loss.backward()
    optimizer.step()
print(loss.item())
