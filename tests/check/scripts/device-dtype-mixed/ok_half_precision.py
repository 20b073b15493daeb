"""Mixed precision on purpose: activations in bfloat16, the loss in float32; numbers of NumPy that take no part in the type."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(16, 4), torch.randn(16, 1)
body, head = nn.Linear(4, 8), nn.Linear(8, 1).bfloat16()
optimizer = torch.optim.AdamW([*body.parameters(), *head.parameters()], lr=0.01)
scale = np.float64(0.5)
for _ in range(4):
    h = torch.relu(body(x)).bfloat16()
    out = head(h)
    loss = (
        nn.functional.mse_loss(out.float(), y)
        + scale * h.float().pow(2).mean()
        + (out - y).abs().mean() * torch.tensor(0.1).double()
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
