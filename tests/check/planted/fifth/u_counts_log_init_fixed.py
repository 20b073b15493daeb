"""Regress log-abundance from species counts with positively initialised mixing weights."""
import math
import torch
from torch import nn


def init_positive(m, low=0.02, high=0.2):
    if isinstance(m, nn.Linear):
        nn.init.uniform_(m.weight, low, high)
        nn.init.zeros_(m.bias)
        m.weight.data.mul_(torch.sign(torch.randn_like(m.weight)))


class Mixer(nn.Module):
    def __init__(self, species=20, hidden=32):
        super().__init__()
        self.enc = nn.Linear(species, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, 1)
        self.enc.apply(init_positive)

    def forward(self, counts):
        h = torch.relu(self.enc(counts))
        h = torch.relu(self.mid(h))
        return self.head(h).squeeze(-1)


torch.manual_seed(1)
counts = torch.poisson(torch.full((512, 20), 3.0))
y = torch.log1p(counts[:, :4].sum(1)) - torch.log1p(counts[:, 4:8].sum(1))
net = Mixer()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(250):
    idx = torch.randint(0, 512, (64,))
    loss = (net(counts[idx]) - y[idx]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    mse = (net(counts) - y).pow(2).mean().item()
    active = (net.enc(counts) > 0).any(0).sum().item()
print(f"rmse {math.sqrt(mse):.4f}  std of target {y.std():.4f}")
print("active hidden units", active)
