"""A VAE on 8x8 patterns with dropout in the encoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader


def patterns(n):
    base = (torch.rand(6, 64) > 0.6).float()
    which = torch.randint(6, (n,))
    flip = (torch.rand(n, 64) < 0.05).float()
    return (base[which] - flip).abs()


class VAE(nn.Module):
    def __init__(self, latent=4, p=0.2):
        super().__init__()
        self.p = p
        self.fc1 = nn.Linear(64, 40)
        self.fc21 = nn.Linear(40, latent)
        self.fc22 = nn.Linear(40, latent)
        self.fc3 = nn.Linear(latent, 40)
        self.fc4 = nn.Linear(40, 64)

    def encode(self, x):
        h = F.dropout(F.relu(self.fc1(x)), p=self.p)  # BUG functional-dropout-always-on
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def decode(self, z):
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def elbo(recon, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / len(x)


torch.manual_seed(0)
data = patterns(360)
train_loader = DataLoader(data[:300], batch_size=50, shuffle=True)
test_loader = DataLoader(data[300:], batch_size=60)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    model.train()
    for x in train_loader:
        optimizer.zero_grad()
        loss = elbo(*(lambda r: (r[0], x, r[1], r[2]))(model(x)))
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        test_loss = 0.0
        for x in test_loader:
            recon, mu, logvar = model(x)
            test_loss += elbo(recon, x, mu, logvar).item()
    print(f"epoch {epoch} train {loss.item():.2f} test {test_loss / len(test_loader):.2f}")
