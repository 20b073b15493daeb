"""Running loss for the progress bar."""

import torch
from torch import nn


def train_epoch(model, opt, x, y, batch=16):
    running, batches = 0, 0
    for i in range(0, len(x), batch):
        loss = nn.functional.mse_loss(model(x[i : i + batch]), y[i : i + batch])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running = running + loss  # BUG graph-kept
        batches += 1
    return running / batches


torch.manual_seed(0)
x = torch.randn(192, 4)
y = torch.cos(x.sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
log = []
for epoch in range(4):
    log.append(train_epoch(model, opt, x, y))
    print(f"epoch {epoch}: {float(log[-1]):.4f}")
print("graph", getattr(log[-1], "grad_fn", None) is not None)
