"""Forecast evaluation with losses collected per batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Forecaster(nn.Module):
    def __init__(self, w=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(w, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def windows(s, w=10):
    u = s.unfold(0, w + 1, 1)
    return u[:, :w], u[:, w]


def score(model, x, y, bs=64):
    model.eval()
    with torch.inference_mode():
        parts = [F.mse_loss(model(a), b, reduction="sum") for a, b in zip(x.split(bs), y.split(bs))]
    return (torch.stack(parts).sum() / len(y)).sqrt().item()


torch.manual_seed(0)
t = torch.arange(800.0)
s = torch.sin(t / 4) + 0.1 * torch.randn(800)
x, y = windows(s[:650])
xt, yt = windows(s[658:])[0][:132], windows(s[658:])[1][:132]
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    model.train()
    i = torch.randint(0, len(x), (32,))
    loss = F.mse_loss(model(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("rmse", score(model, xt, yt), "on", len(yt), "windows")
