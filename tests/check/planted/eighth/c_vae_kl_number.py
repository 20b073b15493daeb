import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.enc = nn.Linear(d, 24)
        self.mu = nn.Linear(24, z)
        self.logvar = nn.Linear(24, z)
        self.dec = nn.Sequential(nn.Linear(z, 24), nn.ReLU(), nn.Linear(24, d))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def loss_terms(model, x):
    reconstruction, mu, logvar = model(x)
    mse = F.mse_loss(reconstruction, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum() / len(x)
    return {"mse": mse, "kl": kl.item()}  # BUG gradient-cut


torch.manual_seed(8)
x = torch.randn(320, 3) @ torch.randn(3, 16)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    for batch in x[torch.randperm(320)].split(32):
        terms = loss_terms(model, batch)
        loss = terms["mse"] + 0.5 * terms["kl"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, float(terms["mse"]), float(terms["kl"]))
