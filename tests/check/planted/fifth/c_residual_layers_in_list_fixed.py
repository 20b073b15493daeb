# Residual MLP for a 2-spiral problem; depth is a constructor argument.
import math
import torch
import torch.nn as nn


class ResMLP(nn.Module):
    def __init__(self, depth=4, width=32):
        super().__init__()
        self.stem = nn.Linear(2, width)
        self.blocks = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = h + torch.tanh(block(h))
        return self.head(h).squeeze(-1)


def spirals(n):
    y = torch.randint(0, 2, (n,)).float()
    r = 0.2 + torch.rand(n)
    a = 2.5 * math.pi * r + math.pi * y
    return torch.stack([r * a.cos(), r * a.sin()], 1) + 0.02 * torch.randn(n, 2), y


torch.manual_seed(1)
x, y = spirals(600)
xv, yv = spirals(300)
model = ResMLP()
print("trainable parameters:", sum(p.numel() for p in model.parameters()))
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(30):
    for idx in torch.randperm(600).split(60):
        opt.zero_grad()
        loss = bce(model(x[idx]), y[idx])
        loss.backward()
        opt.step()
with torch.no_grad():
    acc = ((model(xv) > 0) == (yv > 0.5)).float().mean().item()
print(f"last loss {loss.item():.4f}  validation accuracy {acc:.3f}")
