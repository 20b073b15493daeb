import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self, d=16, h=64, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.to_mu, self.to_logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))
        self.z = z

    def encode(self, x):
        h = self.enc(x)
        return self.to_mu(h), self.to_logvar(h).clamp(-8, 4)

    def forward(self, x):
        mu, logvar = self.encode(x)
        std = torch.exp(0.5 * logvar)
        z = mu + std * torch.randn_like(std) if self.training else mu
        return self.dec(z), mu, logvar

    @torch.no_grad()
    def sample(self, n):
        return self.dec(torch.randn(n, self.z))


def elbo_terms(x, rec, mu, logvar):
    rec_loss = F.mse_loss(rec, x, reduction="none").sum(1)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
    return rec_loss.mean(), kl.mean()


def main(beta=0.5, epochs=15):
    torch.manual_seed(2)
    A = torch.randn(3, 16)
    x = torch.tanh(torch.randn(600, 3) @ A) + 0.1 * torch.randn(600, 16)
    loader = DataLoader(x, batch_size=40, shuffle=True)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for ep in range(epochs):
        model.train()
        r_sum = k_sum = 0.0
        for xb in loader:
            rec, mu, logvar = model(xb)
            r, k = elbo_terms(xb, rec, mu, logvar)
            loss = r + beta * k
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
            r_sum += r.item()
            k_sum += k.item()
        if ep % 5 == 0:
            print(f"{ep} rec {r_sum / len(loader):.3f} kl {k_sum / len(loader):.3f}")
    model.eval()
    s = model.sample(1000)
    gap = (torch.cov(s.T) - torch.cov(x.T)).norm() / torch.cov(x.T).norm()
    print(f"final rec {r_sum / len(loader):.3f} sample covariance gap {gap:.3f}")


main()
