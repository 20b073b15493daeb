"""VAE whose samples from a fixed latent batch are tracked during training."""
import torch
from torch import nn

torch.manual_seed(0)
basis = torch.randn(2, 10)
enc = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
dec = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 10))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=4e-3)
FIXED = torch.randn(16, 2)
track = []
for step in range(300):
    x = torch.randn(64, 2) @ basis
    mu, logvar = enc(x).chunk(2, 1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
    rec = (dec(z) - x).pow(2).sum(1).mean()
    kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()
    loss = rec + 0.2 * kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        with torch.no_grad():
            track.append(dec(FIXED).std().item())
print("reconstruction", rec.item(), "kl", kl.item(), "spread of the fixed samples", track)
