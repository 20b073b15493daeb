"""Spatial dropout by hand in a small regression net."""
import torch
import torch.nn as nn


class ChannelMask(nn.Module):
    """zero whole channels in training and rescale the others"""

    def __init__(self, p=0.25):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training:
            return x
        keep = (torch.rand(x.shape[0], x.shape[1], 1) > self.p).float() / (1 - self.p)
        x.data.mul_(keep)  # BUG inplace-breaks-backward
        return x


class Net(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.c1 = nn.Conv1d(1, ch, 5, padding=2)
        self.mask = ChannelMask()
        self.c2 = nn.Conv1d(ch, ch, 5, padding=2)
        self.out = nn.Conv1d(ch, 1, 1)

    def forward(self, x):
        h = self.mask(torch.sigmoid(self.c1(x)))
        return self.out(torch.sigmoid(self.c2(h)))


def signal(n, t=32):
    x = torch.randn(n, 1, t)
    return x, 2 * (x.roll(1, -1) + x + x.roll(-1, -1)).tanh()


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(200):
    net.train()
    x, y = signal(32)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    x, y = signal(100)
    print("mse", nn.functional.mse_loss(net(x), y).item(), "variance", y.var().item())
