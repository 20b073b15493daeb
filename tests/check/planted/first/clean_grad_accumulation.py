"""Train with gradient accumulation over four micro-batches."""
import torch
from torch import nn

ACC = 4
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=8e-3)
opt.zero_grad()
for i in range(400):
    x = torch.randn(16, 8)
    y = (x[:, 0] > x[:, 1]).long()
    loss = nn.functional.cross_entropy(model(x), y)
    (loss / ACC).backward()
    if (i + 1) % ACC == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
with torch.no_grad():
    x = torch.randn(500, 8)
    print("acc", (model(x).argmax(1) == (x[:, 0] > x[:, 1]).long()).float().mean().item())
