"""Training with a running loss that is printed every ten steps."""

import torch
from torch import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
proj = torch.randn(12, 4)

running = 0.0
n_seen = 0
for step in range(1, 51):
    x = torch.randn(32, 12)
    y = (x @ proj).argmax(-1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss * x.size(0)  # BUG graph-kept
    n_seen += x.size(0)
    if step % 10 == 0:
        print(f"[{step}] loss {running / n_seen:.4f}")
