"""Exponential moving average of weights, evaluated in place of the live model."""
import copy
import torch
import torch.nn as nn


class EMA:
    def __init__(self, model, decay=0.95):
        self.module = copy.deepcopy(model)
        for p in self.module.parameters():
            p.requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.module.parameters(), model.parameters()):
            e.lerp_(p, 1 - self.decay)
        for e, b in zip(self.module.buffers(), model.buffers()):
            e.copy_(b)


def rings(n):
    y = torch.randint(0, 2, (n,))
    r = 1.0 + y + 0.25 * torch.randn(n)
    a = torch.rand(n) * 6.2832
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 64), nn.ReLU(),
                      nn.Dropout(0.4), nn.Linear(64, 2))
ema = EMA(model)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
x_val, y_val = rings(500)
for epoch in range(5):
    model.train()
    for _ in range(50):
        x, y = rings(64)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
    ema.module.eval()
    with torch.no_grad():
        acc = (ema.module(x_val).argmax(1) == y_val).float().mean().item()
    print(epoch, "ema val acc", round(acc, 4))
