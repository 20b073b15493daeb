"""A VQ autoencoder."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Quantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        self.beta = beta

    def forward(self, z):
        dist = torch.cdist(z, self.codebook.weight)
        idx = dist.argmin(dim=1)
        q = self.codebook(idx)
        codebook_loss = F.mse_loss(q, z.detach())
        return q, codebook_loss  # BUG gradient-cut


class VQAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 4))
        self.quantizer = Quantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 8))

    def forward(self, x):
        q, vq_loss = self.quantizer(self.encoder(x))
        return self.decoder(q), vq_loss


torch.manual_seed(43)
protos = torch.randn(6, 8)
model = VQAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(40):
    x = protos[torch.randint(0, 6, (48,))] + 0.1 * torch.randn(48, 8)
    recon, vq_loss = model(x)
    loss = F.mse_loss(recon, x) + vq_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
