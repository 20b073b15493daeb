import torch
import torch.nn as nn

torch.manual_seed(2)


class VAE(nn.Module):
    def __init__(self, d=8, z=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU())
        self.mu, self.logvar = nn.Linear(32, z), nn.Linear(32, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h).clamp(-8, 8)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


W = torch.randn(2, 8)
data = torch.randn(600, 2) @ W + 0.1 * torch.randn(600, 8)
vae = VAE()
opt = torch.optim.Adam(vae.parameters(), lr=5e-3)
for epoch in range(20):
    for xb in data.split(60):
        rec, mu, lv = vae(xb)
        kl = -0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(1).mean()
        loss = (rec - xb).pow(2).sum(1).mean() / 0.2 + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.3f} kl {kl.item():.3f}")
