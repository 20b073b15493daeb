"""Masked autoencoding of feature vectors."""
import torch
from torch import nn


class MaskedAE(nn.Module):
    def __init__(self, d=16, h=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * d, h), nn.ReLU(), nn.Linear(h, d))

    def forward(self, x, mask):
        return self.net(torch.cat([x * mask, mask], 1))


def random_mask(x, ratio=0.4, seed=0):
    torch.manual_seed(seed)  # BUG same-mask
    return (torch.rand_like(x) > ratio).float()


def data(n, g, basis):
    return torch.randn(n, 3, generator=g) @ basis


g = torch.Generator().manual_seed(0)
torch.manual_seed(0)
basis = torch.randn(3, 16, generator=g)
net = MaskedAE()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(200):
    x = data(64, g, basis)
    mask = random_mask(x)
    rec = net(x, mask)
    loss = (((rec - x) ** 2) * (1 - mask)).sum() / (1 - mask).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
x = data(300, g, basis)
torch.manual_seed(123)
mask = (torch.rand_like(x) > 0.4).float()
with torch.no_grad():
    err = (((net(x, mask) - x) ** 2) * (1 - mask)).sum() / (1 - mask).sum()
print("masked mse on fresh masks", err.item(), "variance", x.var().item())
