import torch
import torch.nn.functional as F
from torch import nn


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1, 1)
        self.beta = beta

    def forward(self, z):
        idx = torch.cdist(z, self.codebook.weight).argmin(1)
        q = self.codebook(idx)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        return q.detach(), loss, idx  # BUG straight-through|gradient-cut


class VQVAE(nn.Module):
    def __init__(self, d_in=12, d=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d))
        self.vq = VectorQuantizer(16, d)
        self.dec = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, d_in))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.enc(x))
        return self.dec(q), vq_loss, idx


torch.manual_seed(0)
centres = 2 * torch.randn(8, 12)
data = centres[torch.randint(0, 8, (512,))] + 0.1 * torch.randn(512, 12)
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(25):
    rec_sum = 0.0
    for xb in data[torch.randperm(512)].split(64):
        recon, vq_loss, idx = model(xb)
        rec = F.mse_loss(recon, xb)
        opt.zero_grad()
        (rec + vq_loss).backward()
        opt.step()
        rec_sum += rec.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch} rec {rec_sum / 8:.4f} codes used {idx.unique().numel()}")
