"""Autoencoder with a codebook and the straight-through estimator."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Quantizer(nn.Module):
    def __init__(self, codes, dim):
        super().__init__()
        self.codebook = nn.Parameter(0.5 * torch.randn(codes, dim))

    def forward(self, z):
        index = torch.cdist(z.detach(), self.codebook.detach()).argmin(1)
        code = self.codebook[index]
        codebook_loss = F.mse_loss(code, z.detach())
        commitment = F.mse_loss(z, code.detach())
        straight = z + (code - z).detach()
        return straight, codebook_loss + 0.25 * commitment, index


class Model(nn.Module):
    def __init__(self, dim=20, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, latent))
        self.quantizer = Quantizer(16, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, x):
        code, extra, index = self.quantizer(self.encoder(x))
        return self.decoder(code), extra, index


centers = torch.randn(10, 20)
data = centers[torch.randint(0, 10, (800,))] + 0.1 * torch.randn(800, 20)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    x = data[torch.randint(0, 800, (64,))]
    recon, extra, index = model(x)
    recon_loss = F.mse_loss(recon, x)
    loss = recon_loss + extra
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} recon {recon_loss.item():.3f} codes used {index.unique().numel()}")
