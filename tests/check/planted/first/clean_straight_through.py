"""Binary autoencoder with a straight-through estimator."""
import torch
from torch import nn


class BinaryAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 10))
        self.dec = nn.Sequential(nn.Linear(10, 48), nn.GELU(), nn.Linear(48, 12))

    def forward(self, x):
        p = torch.sigmoid(self.enc(x))
        hard = (p > 0.5).float()
        code = p + (hard - p).detach()
        return self.dec(code)


torch.manual_seed(0)
basis = torch.randn(3, 12)
net = BinaryAE()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(300):
    x = torch.randn(64, 3).sign() @ basis
    loss = nn.functional.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mse", loss.item(), "variance", x.var().item())
