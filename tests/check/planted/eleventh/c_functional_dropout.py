"""A regressor with dropout in forward."""

import torch
import torch.nn.functional as F
from torch import nn


class Regressor(nn.Module):
    def __init__(self, p=0.3):
        super().__init__()
        self.a, self.b, self.p = nn.Linear(5, 32), nn.Linear(32, 1), p

    def forward(self, x):
        h = F.relu(self.a(x))
        h = F.dropout(h, p=self.p)  # BUG functional-dropout-always-on
        return self.b(h)


torch.manual_seed(0)
x = torch.randn(100, 5)
y = x.sum(1, keepdim=True)
model = Regressor()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    model.train()
    for xb, yb in zip(x.split(25), y.split(25)):
        loss = F.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
model.eval()
with torch.no_grad():
    first, second = model(x[:10]), model(x[:10])
print("same twice", torch.equal(first, second))
