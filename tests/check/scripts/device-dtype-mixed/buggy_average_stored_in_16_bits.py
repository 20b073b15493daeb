"""A slow average of means is stored in 16 bits, where its steps are rounded away."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
centres = torch.randn(2, 3).to(torch.bfloat16)
for _ in range(8):
    x, y = torch.randn(16, 4), torch.arange(16) % 2
    z = model(x)
    loss = nn.functional.cross_entropy(-torch.cdist(z, centres.float()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for c in range(2):
        mean = z.detach()[y == c].mean(0)
        centres[c] = 0.9995 * centres[c].float() + 0.0005 * mean  # <- finding
print(loss.item())
