"""Missing values are filled by a learned default."""

import torch
from torch import nn


class Imputer(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.default = nn.Parameter(torch.zeros(columns))

    def forward(self, x, missing):
        return torch.where(missing, self.default.expand_as(x), x)


torch.manual_seed(0)
imputer = Imputer(5)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam([{"params": model.parameters()}, {"params": imputer.parameters(), "lr": 0.1}], lr=1e-2)
x = torch.randn(120, 5) + 3.0
y = x.sum(1, keepdim=True)
for epoch in range(6):
    for xb, yb in zip(x.split(30), y.split(30)):
        missing = torch.rand_like(xb) < 0.3
        pred = model(imputer(xb, missing))
        loss = nn.functional.mse_loss(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 2), "default", round(imputer.default.mean().item(), 2))
