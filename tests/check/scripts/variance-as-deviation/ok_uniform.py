import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, dim=10, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 32), nn.ReLU())
        self.mu, self.logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, dim))

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


torch.manual_seed(35)
data = torch.randn(400, 3) @ torch.randn(3, 10)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for i in torch.randperm(400).split(40):
        out, mu, logvar = model(data[i])
        rec = F.mse_loss(out, data[i], reduction="sum") / len(i)
        kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
        loss = rec + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, rec.item(), kl.item())
