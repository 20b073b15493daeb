"""VAE on synthetic 8x8 images."""
import torch
from torch import nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d=64, z=4):
        super().__init__()
        self.enc = nn.Linear(d, 48)
        self.mu = nn.Linear(48, z)
        self.logvar = nn.Linear(48, z)
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def reconstruction(logits, x):
    return F.binary_cross_entropy_with_logits(logits, x)  # BUG terms-reduced-apart


def kl(mu, logvar):
    return -0.5 * torch.sum(1 + logvar - mu ** 2 - logvar.exp())  # BUG terms-reduced-apart


def elbo_loss(logits, x, mu, logvar):
    return reconstruction(logits, x) + kl(mu, logvar)  # BUG terms-reduced-apart


torch.manual_seed(0)
protos = (torch.rand(6, 64) > 0.5).float()
images = protos[torch.randint(0, 6, (800,))]
flip = torch.rand_like(images) < 0.05
images = torch.where(flip, 1 - images, images)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(800).split(40):
        batch = images[idx]
        logits, mu, logvar = model(batch)
        loss = elbo_loss(logits, batch, mu, logvar)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / 20)
