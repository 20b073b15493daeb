"""Time-series transformer with attention dropout, scored in eval mode."""
import torch
from torch import nn
import torch.nn.functional as F


class Attn(nn.Module):
    def __init__(self, d=24, h=4, p=0.3):
        super().__init__()
        self.h, self.p = h, p
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0)
        return self.o(y.transpose(1, 2).reshape(b, t, d))


class Model(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.inp = nn.Linear(1, d)
        self.pos = nn.Parameter(0.1 * torch.randn(16, d))
        self.attn, self.norm = Attn(d), nn.LayerNorm(d)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        h = self.inp(x) + self.pos
        return self.out(self.norm(h + self.attn(h)).mean(1)).squeeze(-1)


def series(n):
    x = torch.randn(n, 16, 1)
    return x, x.squeeze(-1).amax(1)


torch.manual_seed(0)
net = Model()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
xv, yv = series(300)
for epoch in range(4):
    net.train()
    for _ in range(50):
        x, y = series(48)
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(epoch, "val mse", F.mse_loss(net(xv), yv).item())
