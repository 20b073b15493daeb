import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)


class Quantizer(nn.Module):
    def __init__(self, codes=16, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        self.beta = beta

    def forward(self, z):
        index = torch.cdist(z, self.codebook.weight).argmin(1)
        q = self.codebook(index)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = z + (q - z)  # <- finding
        return q, loss, index


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
        self.quant = Quantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 10))

    def forward(self, x):
        q, loss, index = self.quant(self.encoder(x))
        return self.decoder(q), loss, index


centers = torch.randn(10, 10)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(250):
    x = centers[torch.randint(0, 10, (96,))] + 0.1 * torch.randn(96, 10)
    recon, vq, index = model(x)
    mse = F.mse_loss(recon, x)
    loss = mse + vq
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, mse.item(), vq.item(), len(index.unique()))
