"""Deep ensemble for regression with uncertainty."""
import functools
import torch
from torch import nn


def build_member(n_in, hidden):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                         nn.Linear(hidden, 1))


class Ensemble(nn.Module):
    def __init__(self, n=4, n_in=1, hidden=32):
        super().__init__()
        self.members = nn.ModuleList([build_member(n_in, hidden) for _ in range(n)])

    def forward(self, x):
        return torch.stack([m(x) for m in self.members])


torch.manual_seed(0)
ens = Ensemble()
opt = torch.optim.Adam(ens.parameters(), lr=4e-3)
for step in range(250):
    x = torch.randn(48, 1)
    y = torch.sin(3 * x)
    loss = ((ens(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    far = torch.linspace(3, 5, 20).unsqueeze(1)
    print("mse", loss.item(), "spread outside the data", ens(far).std(0).mean().item())
