"""Multi-task regression that keeps a history of its losses."""
from collections import defaultdict

import torch
from torch import nn


class History:
    def __init__(self):
        self.data = defaultdict(list)

    def log(self, **values):
        for k, v in values.items():
            self.data[k].append(v.item())

    def mean(self, key, last):
        recent = self.data[key][-last:]
        return float(sum(recent) / len(recent))


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU())
        self.a = nn.Linear(48, 1)
        self.b = nn.Linear(48, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.a(h).squeeze(-1), self.b(h)


torch.manual_seed(0)
x = torch.randn(640, 10)
ya = x[:, 0] * 2 - x[:, 3]
yb = x[:, 4:7].argmax(dim=1)
model, history = TwoHeads(), History()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for idx in torch.randperm(640).split(32):
        pa, pb = model(x[idx])
        la = nn.functional.mse_loss(pa, ya[idx])
        lb = nn.functional.cross_entropy(pb, yb[idx])
        loss = la + lb
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.log(regression=la, classification=lb, total=loss)
    print(epoch, history.mean("regression", 20), history.mean("classification", 20))
