"""Binary detection with focal loss on imbalanced data."""
import torch
from torch import nn


def focal_loss(p, y, gamma=2.0, alpha=0.75, eps=1e-6):
    p = p.clamp(eps, 1 - eps)
    pos = -alpha * (1 - p) ** gamma * torch.log(p) * y
    neg = -(1 - alpha) * p ** gamma * torch.log(1 - p) * (1 - y)
    return (pos + neg).mean()


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def draw(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] + x[:, 1] > 1.5).float()


torch.manual_seed(0)
net = Detector()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(300):
    x, y = draw(128)
    loss = focal_loss(torch.sigmoid(net(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = draw(2000)
    hit = (torch.sigmoid(net(x)) > 0.5) & (y > 0.5)
print("loss", loss.item(), "recall", (hit.sum() / y.sum()).item())
