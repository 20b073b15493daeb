"""Street-scene segmentation with partially annotated masks."""
import torch
from torch import nn

VOID = 255


class Seg(nn.Module):
    def __init__(self, n_cls):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, n_cls, 1))

    def forward(self, x):
        return self.net(x)


def scenes(n, annotated=0.8):
    x = torch.randn(n, 3, 10, 10)
    y = x.argmax(1)
    y[torch.rand(y.shape) > annotated] = VOID
    return x, y


torch.manual_seed(0)
net = Seg(3)
criterion = nn.CrossEntropyLoss()  # BUG label-range
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(120):
    x, y = scenes(8)
    loss = criterion(net(x), y)  # BUG label-range
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = scenes(50, annotated=1.0)
    print("pixel acc", (net(x).argmax(1) == y).float().mean().item())
