"""Training loop with callbacks that receive a dict of metrics."""
from collections import defaultdict
import torch
from torch import nn


class History:
    def __init__(self):
        self.values = defaultdict(list)

    def on_step(self, **metrics):
        for k, v in metrics.items():
            self.values[k].append(v)  # BUG graph-kept


class VAE(nn.Module):
    def __init__(self, d=12, z=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def losses(model, x):
    rec, mu, logvar = model(x)
    r = (rec - x).pow(2).sum(1).mean()
    kl = 0.5 * (mu.pow(2) + logvar.exp() - 1 - logvar).sum(1).mean()
    return dict(rec=r, kl=kl, total=r + 0.1 * kl)


torch.manual_seed(0)
basis = torch.randn(2, 12)
model, hist = VAE(), History()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    x = torch.randn(64, 2) @ basis
    m = losses(model, x)
    opt.zero_grad()
    m["total"].backward()
    opt.step()
    hist.on_step(**m)
print("reconstruction", float(hist.values["rec"][0]), "->", float(hist.values["rec"][-1]))
