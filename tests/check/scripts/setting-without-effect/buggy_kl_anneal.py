import torch
from torch import nn

torch.manual_seed(28)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(16, 32)
        self.mu = nn.Linear(32, 4)
        self.logvar = nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        h = self.enc(x).relu()
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


basis = torch.randn(3, 16)
data = torch.randn(512, 3) @ basis + 0.1 * torch.randn(512, 16)
model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
step, warm = 0, 20
for epoch in range(5):
    total = 0.0
    for idx in torch.randperm(512).split(64):
        x = data[idx]
        recon, mu, logvar = model(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        beta = min(1.0, step / warm)  # <- finding
        loss = (recon - x).pow(2).sum(1).mean() + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 8:.4f} kl {kl.item():.3f}")
