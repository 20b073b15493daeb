"""Multi-horizon forecasting with a direct strategy."""
import torch
import torch.nn as nn
import torch.nn.functional as F

W, H = 16, 4


class Direct(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(W, 48), nn.ReLU(), nn.Linear(48, H))

    def forward(self, x):
        return self.net(x)


def series(n):
    t = torch.arange(W + H) * 0.4
    s = torch.sin(t * (0.8 + 0.4 * torch.rand(n, 1)) + 6.28 * torch.rand(n, 1)) + 0.05 * torch.randn(n, W + H)
    return s[:, :W], s[:, W:], s[:, W:]


torch.manual_seed(0)
net = Direct()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(300):
    x, y, _ = series(64)
    loss = F.huber_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, _, full = series(300)
    print("mse of each horizon", (net(x) - full).pow(2).mean(0).tolist())
