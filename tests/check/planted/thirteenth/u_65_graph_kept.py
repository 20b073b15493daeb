import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class EMA:
    def __init__(self, decay):
        self.decay = decay
        self.value = None

    def __call__(self, new):
        if self.value is None:  # BUG graph-kept
            self.value = new  # BUG graph-kept
        else:  # BUG graph-kept
            self.value = self.decay * self.value + (1 - self.decay) * new  # BUG graph-kept
        return self.value


class Progress:
    def __init__(self, names):
        self.averages = {name: EMA(0.95) for name in names}

    def update(self, **metrics):
        for name, metric in metrics.items():
            self.averages[name](metric)  # BUG graph-kept

    def line(self):
        return " ".join(f"{name}={float(avg.value):.4f}" for name, avg in self.averages.items())


class VAE(nn.Module):
    def __init__(self, n=12, latent=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n, 32), nn.ReLU(), nn.Linear(32, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, n))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


torch.manual_seed(59)
data = torch.tanh(torch.randn(1600, 2) @ torch.randn(2, 12)) + 0.05 * torch.randn(1600, 12)
loader = DataLoader(TensorDataset(data[:1400]), batch_size=50, shuffle=True)
model, progress = VAE(), Progress(["recon", "kl"])
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(8):
    model.train()
    for (x,) in loader:
        out, mu, logvar = model(x)
        recon = F.mse_loss(out, x, reduction="none").sum(1).mean()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        optimizer.zero_grad()
        (recon + 0.05 * kl).backward()
        optimizer.step()
        progress.update(recon=recon, kl=kl)  # BUG graph-kept
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(data[1400:])[0], data[1400:]).item()
    print(f"epoch {epoch} {progress.line()} val={val:.4f}")
