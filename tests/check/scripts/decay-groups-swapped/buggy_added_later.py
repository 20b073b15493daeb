"""The optimizer's own decay is for biases, and a group without is added for the weights."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(24, 1))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.ndim == 1], lr=1e-2)
optimizer.add_param_group(
    {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0}  # <- finding
)
x = torch.randn(20, 1, 8)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x[:, :, 0])
    loss.backward()
    optimizer.step()
print(loss.item())
