"""Pixel labelling with a class-weighted NLL criterion."""
import torch
from torch import nn


class PixelNet(nn.Module):
    def __init__(self, n_cls=3):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, n_cls, 1))
        self.norm = nn.Softmax2d()  # BUG nll-without-log-softmax

    def forward(self, x):
        return self.norm(self.body(x))


def fields(n):
    x = torch.randn(n, 2, 8, 8)
    y = torch.where(x[:, 0] > 0.5, 2, torch.where(x[:, 1] > 0.3, 1, 0))
    return x, y


torch.manual_seed(0)
net = PixelNet()
weights = torch.tensor([0.8, 1.1, 1.1])
criterion = nn.NLLLoss(weight=weights)
opt = torch.optim.Adam(net.parameters(), lr=8e-3)
for step in range(150):
    x, y = fields(16)
    loss = criterion(net(x), y)  # BUG nll-without-log-softmax
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = fields(50)
    print("loss", loss.item(), "pixel acc", (net(x).argmax(1) == y).float().mean().item())
