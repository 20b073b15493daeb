"""A hand-written recurrent network on long sequences."""

import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, d_in, d_hid):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d_hid, d_hid))  # BUG exploding-gradient|nan-born
        self.u = nn.Parameter(torch.randn(d_in, d_hid) * 0.1)
        self.out = nn.Linear(d_hid, 1)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.w.shape[0])
        for t in range(x.shape[1]):
            h = torch.nn.functional.leaky_relu(h @ self.w + x[:, t] @ self.u, 0.2)  # BUG exploding-gradient|nan-born
        return self.out(h)


torch.manual_seed(66)
net = Recurrent(2, 24)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(15):
    x = torch.rand(16, 25, 2)
    y = x[:, :, 0].mean(1, keepdim=True)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
