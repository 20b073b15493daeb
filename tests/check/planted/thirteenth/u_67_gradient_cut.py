"""A small VQ-VAE on two-dimensional rings."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes, dim, beta=0.05):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0, 1.0)
        self.beta = beta

    def forward(self, z):
        index = torch.cdist(z, self.codebook.weight).argmin(dim=1)  # BUG gradient-cut
        quantized = self.codebook(index)  # BUG gradient-cut
        loss = F.mse_loss(quantized, z.detach()) + self.beta * F.mse_loss(z, quantized.detach())
        return quantized, loss, index  # BUG gradient-cut


class VQVAE(nn.Module):
    def __init__(self, n_in=16, dim=2, n_codes=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, dim))
        self.quantizer = VectorQuantizer(n_codes, dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, n_in))

    def forward(self, x):
        z, vq_loss, index = self.quantizer(self.encoder(x))  # BUG gradient-cut
        return self.decoder(z), vq_loss, index


def patterns(n, g):
    angle = torch.rand(n, generator=g) * 6.2832
    grid = torch.linspace(0, 6.2832, 17)[:-1]
    return torch.cos(angle[:, None] - grid) + 0.5 * torch.cos(2 * (angle[:, None] - grid))


def main():
    torch.manual_seed(24)
    g = torch.Generator().manual_seed(24)
    x, x_val = patterns(1500, g), patterns(300, g)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(15):
        model.train()
        for idx in torch.randperm(1500, generator=g).split(50):
            out, vq_loss, _ = model(x[idx])
            loss = F.mse_loss(out, x[idx]) + vq_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out, _, index = model(x_val)
        print(f"epoch {epoch} val recon {F.mse_loss(out, x_val).item():.4f} codes used {index.unique().numel()}")


main()
