import functools

import torch
import torch.nn as nn
import torch.nn.functional as F


def inference(fn):
    """Marks methods that are part of the public embedding interface."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        with torch.no_grad():  # BUG gradient-cut
            return fn(*args, **kwargs)

    return wrapper


class SimCLR(nn.Module):
    def __init__(self, n_in=24, hidden=48, out=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(hidden, out))

    @inference  # BUG gradient-cut
    def encode(self, x):  # BUG gradient-cut
        return self.encoder(x)

    def forward(self, x):
        return F.normalize(self.projector(self.encode(x)), dim=1)  # BUG gradient-cut


def nt_xent(a, b, temperature=0.2):
    z = torch.cat([a, b])
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    n = len(a)
    partner = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, partner)


def augment(x, g):
    drop = (torch.rand(x.shape, generator=g) > 0.2).float()
    return x * drop + 0.3 * torch.randn(x.shape, generator=g)


def knn(model, x, y, n_ref):
    model.eval()
    with torch.no_grad():
        e = F.normalize(model.encode(x), dim=1)
    return (y[:n_ref][(e[n_ref:] @ e[:n_ref].t()).argmax(1)] == y[n_ref:]).float().mean().item()


torch.manual_seed(67)
g = torch.Generator().manual_seed(67)
centres = torch.randn(6, 24, generator=g)
y = torch.randint(0, 6, (700,), generator=g)
nuisance = torch.randn(700, 1, generator=g) * 6 * torch.randn(1, 24, generator=g)
x = centres[y] + 1.2 * torch.randn(700, 24, generator=g) + 0.2 * nuisance
model = SimCLR()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(560, generator=g).split(80):
        loss = nt_xent(model(augment(x[idx], g)), model(augment(x[idx], g)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} 1-nn {knn(model, x, y, 560):.3f}")
