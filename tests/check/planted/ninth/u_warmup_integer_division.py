# Linear warm-up, written with the wrong division
import torch
from torch import nn

torch.manual_seed(36)
WARMUP = 200
x = torch.randn(256, 6)
y = (x[:, :1] > 0).float()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) // WARMUP))  # BUG lr-absurd|step-without-backward
for epoch in range(8):
    for rows in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, loss.item(), scheduler.get_last_lr())
