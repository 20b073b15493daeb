"""Contrastive learning of two views (SimCLR-like)."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self, d_in=16, d_hid=32, d_out=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(d_in, d_hid), nn.ReLU(), nn.Linear(d_hid, d_hid))
        self.projector = nn.Linear(d_hid, d_out)

    @torch.no_grad()  # BUG gradient-cut
    def features(self, x):
        return self.backbone(x)

    def forward(self, x):
        return F.normalize(self.projector(self.features(x)), dim=1)


def nt_xent(a, b, t=0.2):
    z = torch.cat([a, b])
    sim = z @ z.T / t
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), -1e9)
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


torch.manual_seed(0)
model = SimCLR()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(25):
    x = torch.randn(24, 16)
    v1, v2 = (x + 0.2 * torch.randn_like(x) for _ in range(2))
    loss = nt_xent(model(v1), model(v2))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
