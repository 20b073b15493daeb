"""VQ-VAE on two-dimensional clusters."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, n_codes=16, d=4, beta=0.25):
        super().__init__()
        self.codes = nn.Embedding(n_codes, d)
        nn.init.uniform_(self.codes.weight, -1, 1)
        self.beta = beta

    def forward(self, z):
        idx = torch.cdist(z, self.codes.weight).argmin(1)
        q = self.codes(idx)
        vq_loss = F.mse_loss(q, z.detach())
        return q, vq_loss  # BUG gradient-cut


class VQVAE(nn.Module):
    def __init__(self, d_in=10, d=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d_in, 48), nn.ReLU(), nn.Linear(48, d))
        self.quant = Quantizer(d=d)
        self.decoder = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, d_in))

    def forward(self, x):
        q, vq = self.quant(self.encoder(x))
        return self.decoder(q), vq


torch.manual_seed(0)
centers = 2 * torch.randn(8, 10)
model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    x = centers[torch.randint(0, 8, (64,))] + 0.2 * torch.randn(64, 10)
    rec, vq = model(x)
    loss = F.mse_loss(rec, x) + vq
    opt.zero_grad()
    loss.backward()
    opt.step()
print("reconstruction", F.mse_loss(rec, x).item(), "variance", x.var().item())
