# Forecast the next 4 hours, target kept with its channel axis
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, lookback=16, horizon=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(lookback, 48), nn.ReLU(), nn.Linear(48, horizon))

    def forward(self, x):            # (batch, 1, lookback)
        return self.net(x)


torch.manual_seed(1)
t = torch.arange(1200).float()
series = torch.sin(t / 7) + 0.5 * torch.sin(t / 3) + 0.05 * torch.randn(1200)
w = series.unfold(0, 20, 1).unsqueeze(1)
x, y = w[..., :16], w[..., 16:]
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.SmoothL1Loss()
for epoch in range(12):
    for b in torch.randperm(1000).split(50):
        opt.zero_grad()
        loss = loss_fn(model(x[b]), y[b])
        loss.backward()
        opt.step()
    if epoch % 4 == 3:
        print("epoch", epoch + 1, "loss", round(loss.item(), 4))
with torch.no_grad():
    err = (model(x[1000:]).reshape(-1, 4) - y[1000:].reshape(-1, 4)).abs().mean()
print("test mean absolute error", err.item())
