"""The whole model in bfloat16 to save memory."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 8)
y = x @ torch.ones(8, 1) * 0.1 + 1.0
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).bfloat16()  # BUG device-dtype-mixed|lr-absurd
with torch.no_grad():
    for p in model.parameters():
        p.add_(0.5)
opt = torch.optim.SGD(model.parameters(), lr=1e-5)  # BUG device-dtype-mixed|lr-absurd
before = [p.detach().clone() for p in model.parameters()]
for epoch in range(5):
    for xb, yb in zip(x.split(32), y.split(32)):
        out = model(xb.bfloat16()).float()
        loss = nn.functional.mse_loss(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
moved = sum((p != q).sum().item() for p, q in zip(model.parameters(), before))
print("loss", round(loss.item(), 3), "elements that moved", moved)
