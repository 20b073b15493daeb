"""Gradual unfreezing of a pre-trained conv stack."""
import torch
from torch import nn


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([
            nn.Sequential(nn.Conv1d(1 if i == 0 else 8, 8, 5, padding=2), nn.ReLU()) for i in range(3)])
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for s in self.stages:
            x = s(x)
        return self.head(x.amax(-1))


def unfreeze(model, i):
    for p in model.stages[i].parameters():
        p.requires_grad = True


def data(n):
    y = torch.randint(0, 2, (n,))
    f = torch.where(y == 1, 0.9, 0.6)
    return torch.sin(f[:, None] * torch.arange(40) + 6.28 * torch.rand(n, 1)).unsqueeze(1) \
        + 0.3 * torch.randn(n, 1, 40), y


torch.manual_seed(0)
model = Stack()
for s in model.stages:
    s.requires_grad_(False)
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=8e-3)  # BUG param-not-in-optimizer
x, y = data(800)
for epoch in range(8):
    if epoch in (2, 3, 4):
        unfreeze(model, 4 - epoch)  # BUG param-not-in-optimizer
    for idx in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
xv, yv = data(300)
with torch.no_grad():
    print("val acc", (model(xv).argmax(1) == yv).float().mean().item())
