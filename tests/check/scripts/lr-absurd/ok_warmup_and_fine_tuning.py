"""A warm-up from a tiny rate, a schedule that ends at zero, fine-tuning with 1e-5."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 1)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 1e-7 * 10 ** min(k, 7) if k < 12 else 0.0)
for _ in range(16):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    schedule.step()

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for _ in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
