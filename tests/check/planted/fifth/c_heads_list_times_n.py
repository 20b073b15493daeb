# Air quality: one head per pollutant on a common trunk.
import torch
from torch import nn

POLLUTANTS = ["no2", "o3", "pm10"]


class AirNet(nn.Module):
    def __init__(self, n_in, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(width, 1)] * len(POLLUTANTS))  # BUG param-shared

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], dim=1)


def stations(n):
    x = torch.randn(n, 6)
    return x, torch.stack([x[:, 0] + x[:, 1], -x[:, 0] + x[:, 2], x[:, 3].abs()], 1)


torch.manual_seed(37)
x, y = stations(600)
xt, yt = stations(200)
net = AirNet(6)
print("parameters", sum(p.numel() for p in net.parameters()))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(20):
    for idx in torch.randperm(600).split(40):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")
with torch.no_grad():
    mse = (net(xt) - yt).pow(2).mean(0)
for name, m, v in zip(POLLUTANTS, mse, yt.var(0)):
    print(f"{name}: R2 {1 - (m / v).item():.3f}")
