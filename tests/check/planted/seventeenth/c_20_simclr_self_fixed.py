import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def nt_xent(z1, z2, temperature=0.2):
    n = len(z1)
    z = torch.cat([z1, z2])
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, targets)


def augment(x):
    return x + 0.3 * torch.randn_like(x)


centers = torch.randn(8, 20)
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for step in range(150):
    x = centers[torch.randint(0, 8, (64,))] + 0.8 * torch.randn(64, 20)
    loss = nt_xent(encoder(augment(x)), encoder(augment(x)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(step, loss.item())
