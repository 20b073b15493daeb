"""With batch_first=True, `out[-1]` is all the steps of the last sample."""

import torch
from torch import nn

torch.manual_seed(0)
gru, head = nn.GRU(2, 6, batch_first=True), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=1e-2)
for step in range(5):
    x = torch.randn(8, 8, 2)
    out, _ = gru(x)
    last = out[-1]  # <- finding
    loss = nn.functional.mse_loss(head(last), x.sum((1, 2))[:, None])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
