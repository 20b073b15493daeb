"""Mixed precision with a gradient scaler, clipping and a warm-up schedule."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
scaler = torch.amp.GradScaler("cpu", enabled=False)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
centers = torch.randn(4, 16)
for step in range(30):
    y = torch.randint(0, 4, (32,))
    x = centers[y] + 0.5 * torch.randn(32, 16)
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
        loss = criterion(logits, y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    if step % 10 == 0:
        print(f"{step} loss {loss.item():.3f} norm {norm.item():.3f} lr {scheduler.get_last_lr()[0]:.5f}")
