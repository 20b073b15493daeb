"""Autocast in bfloat16: the metric is summed up in the dtype of the output."""

import torch
from torch import nn

torch.manual_seed(71)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
w = torch.randn(8, 1)
for epoch in range(2):
    total = torch.zeros((), dtype=torch.bfloat16)  # BUG device-dtype-mixed
    for _ in range(40):
        x = torch.randn(32, 8)
        y = torch.relu(x @ w)
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        loss = nn.functional.mse_loss(out.float(), y)
        loss.backward()
        opt.step()
        total += (out.detach() - y).abs().sum().bfloat16()  # BUG device-dtype-mixed
    print(epoch, (total / (40 * 32)).item())
