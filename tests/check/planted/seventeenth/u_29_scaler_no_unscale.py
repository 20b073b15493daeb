import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(28)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
w = torch.randn(16, 5)


def get_batch(n=64):
    x = torch.randn(n, 16)
    return x, (x @ w).argmax(dim=1)


def train_step(x, y):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # BUG clipping-without-effect
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


for step in range(120):
    value = train_step(*get_batch())
    if step % 20 == 19:
        print(step, value)
