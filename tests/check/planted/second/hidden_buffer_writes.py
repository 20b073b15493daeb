"""Vectorised recurrent net that stores its states in a preallocated buffer."""
import torch
from torch import nn


class BufferRNN(nn.Module):
    def __init__(self, n_in=2, d=20):
        super().__init__()
        self.wx, self.wh = nn.Linear(n_in, d), nn.Linear(d, d)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        b, t, _ = x.shape
        h = x.new_zeros(b, t + 1, self.wh.in_features)
        for i in range(t):
            h[:, i + 1] = torch.tanh(self.wx(x[:, i]) + self.wh(h[:, i]))  # BUG inplace-breaks-backward
        return self.out(h[:, 1:])


def walk(n, t=15):
    x = 0.5 * torch.randn(n, t, 2)
    y, s = [], torch.zeros(n, 1)
    for i in range(t):
        s = 0.8 * s + x[:, i, :1] - 0.5 * x[:, i, 1:]
        y.append(s)
    return x, torch.stack(y, 1)


torch.manual_seed(0)
net = BufferRNN()
opt = torch.optim.Adam(net.parameters(), lr=6e-3)
for step in range(150):
    x, y = walk(32)
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mse", loss.item(), "variance", y.var().item())
