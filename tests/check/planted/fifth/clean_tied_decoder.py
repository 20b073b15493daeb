"""Tied autoencoder: the decoder uses the transposed weights of the encoder on purpose."""
import torch
import torch.nn.functional as F
from torch import nn


class Tied(nn.Module):
    def __init__(self, n=12, k=4):
        super().__init__()
        self.enc = nn.Linear(n, k)
        self.back = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return F.linear(self.enc(x), self.enc.weight.t(), self.back)


torch.manual_seed(0)
basis = torch.linalg.qr(torch.randn(12, 4)).Q
x = torch.randn(500, 4) @ basis.T + 0.02 * torch.randn(500, 12)
net = Tied()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(400):
    loss = F.mse_loss(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, round(loss.item(), 5))
print("reconstruction", round(loss.item(), 5), "variance", round(x.var().item(), 4))
