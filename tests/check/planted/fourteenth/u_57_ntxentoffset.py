import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self, d=24, h=64, e=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(h, h), nn.ReLU(), nn.Linear(h, e))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(z1, z2, tau=0.2):
    n = len(z1)
    z = torch.cat([z1, z2], dim=0)
    sim = z @ z.T / tau
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    target = torch.arange(2 * n) ^ 1  # BUG positives-misplaced
    return F.cross_entropy(sim, target)


class Views:
    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.mix = torch.randn(4, 24, generator=torch.Generator().manual_seed(5))
        self.noise = torch.randn(8, 24, generator=torch.Generator().manual_seed(6)) * 1.2

    def latents(self, n):
        return torch.randn(n, 4, generator=self.g)

    def view(self, z):
        nz = torch.randn(len(z), 8, generator=self.g)
        return z @ self.mix + nz @ self.noise


def linear_probe(model, views):
    """The encoder stays fixed here."""
    model.eval()
    with torch.no_grad():
        ztr, zte = views.latents(150), views.latents(1000)
        htr, hte = model.encoder(views.view(ztr)), model.encoder(views.view(zte))
    ytr, yte = (ztr[:, 0] > 0).long(), (zte[:, 0] > 0).long()
    probe = nn.Linear(htr.shape[1], 2)
    opt = torch.optim.Adam(probe.parameters(), lr=2e-2, weight_decay=1e-3)
    for _ in range(80):
        loss = F.cross_entropy(probe(htr), ytr)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        return (probe(hte).argmax(1) == yte).float().mean().item()


def main(steps=250, bs=64):
    torch.manual_seed(0)
    views = Views(0)
    model = SimCLR()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.train()
    for step in range(steps):
        z = views.latents(bs)
        loss = nt_xent(model(views.view(z)), model(views.view(z)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    print(f"final loss {loss.item():.3f} probe acc {linear_probe(model, views):.3f}")


main()
