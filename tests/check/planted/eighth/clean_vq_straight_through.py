# Vector quantised autoencoder: argmin and detach, a straight-through estimator carries the gradient
import torch
import torch.nn.functional as F
from torch import nn


class VQ(nn.Module):
    def __init__(self, k=8, d=4):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(k, d))

    def forward(self, z):
        nearest = torch.cdist(z, self.codes).argmin(1)
        q = self.codes[nearest]
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss


torch.manual_seed(8)
x = torch.randn(8, 10)[torch.randint(0, 8, (400,))] + 0.1 * torch.randn(400, 10)
enc, vq, dec = nn.Linear(10, 4), VQ(), nn.Linear(4, 10)
opt = torch.optim.Adam([*enc.parameters(), *vq.parameters(), *dec.parameters()], lr=0.01)
for epoch in range(5):
    for rows in torch.randperm(400).split(50):
        q, commit = vq(enc(x[rows]))
        loss = F.mse_loss(dec(q), x[rows]) + commit
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
