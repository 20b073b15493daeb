import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Meter:
    def __init__(self):
        self.total, self.n = 0.0, 0

    def update(self, value, count):
        self.total += value  # <- finding
        self.n += 1

    @property
    def mean(self):
        return self.total / self.n


x = torch.randn(100, 5)
y = x.sum(1)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for idx in torch.randperm(96).split(32):
        loss = F.mse_loss(model(x[idx]).squeeze(1), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    meter = Meter()
    with torch.no_grad():
        for xb, yb in zip(x[:70].split(32), y[:70].split(32)):
            meter.update(F.mse_loss(model(xb).squeeze(1), yb).item(), len(xb))
    print(epoch, meter.mean)
