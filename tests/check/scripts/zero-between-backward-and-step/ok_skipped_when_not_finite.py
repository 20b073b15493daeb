"""A batch with an infinite loss is dropped: its gradients are cleared, and no step is made."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batches = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(8)]
for k, (x, y) in enumerate(batches):
    loss = nn.functional.mse_loss(model(x), y) * (1e6 if k in (3, 5) else 1.0)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    if norm > 1000:
        optimizer.zero_grad(set_to_none=True)
        continue
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
print(loss.item())
