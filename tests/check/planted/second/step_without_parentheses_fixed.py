"""Linear probe on random features."""
import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(6, 100), nn.ReLU()).requires_grad_(False)
probe = nn.Linear(100, 2)
opt = torch.optim.Adam(probe.parameters(), lr=5e-3)


def run(n, train):
    x = torch.randn(n, 6)
    y = (x[:, 0] * 2 > x[:, 1] - x[:, 2]).long()
    with torch.no_grad():
        h = features(x)
    if not train:
        with torch.no_grad():
            return (probe(h).argmax(1) == y).float().mean().item()
    loss = nn.functional.cross_entropy(probe(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


for i in range(200):
    loss = run(64, True)
print("loss", loss, "acc", run(500, False))
