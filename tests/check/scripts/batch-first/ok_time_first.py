"""Time comes first: windows of a long series, and batches that are transposed."""

import torch
from torch import nn

torch.manual_seed(0)
series = torch.randn(60, 4, 2)
lstm, head = nn.LSTM(2, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-2)
for start in range(0, 40, 10):
    window = series[torch.arange(start, start + 10)]
    out, _ = lstm(window)
    loss = nn.functional.mse_loss(head(out[-1]), series[start + 10])
    rows = torch.randn(12, 9, 2)[torch.randperm(12)[:6]]
    turned, _ = lstm(rows.transpose(0, 1))
    loss = loss + nn.functional.mse_loss(head(turned[-1]), rows.mean(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
