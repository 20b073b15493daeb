"""SimCLR on vectors: two noisy views, NT-Xent."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self, n_in=20, hidden=48, out=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x):
        return self.projector(self.encoder(x))


def nt_xent(z1, z2, temperature=0.5):
    n = z1.size(0)
    z = torch.cat([z1, z2])
    z = F.normalize(z, dim=1)
    sim = z @ z.T / temperature
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    target = torch.arange(2 * n).roll(n)
    return F.cross_entropy(sim, target)


class Augment:
    def __init__(self, noise=0.2, drop=0.1):
        self.noise, self.drop = noise, drop

    def __call__(self, x):
        x = x + self.noise * torch.randn_like(x)
        return x * (torch.rand_like(x) > self.drop)


def pretrain(data, steps=40, batch=32):
    model, augment = SimCLR(), Augment()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        x = data[torch.randint(len(data), (batch,))]
        loss = nt_xent(model(augment(x)), model(augment(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())
    return model


torch.manual_seed(5)
centers = torch.randn(10, 20) * 2
data = centers[torch.randint(10, (400,))] + 0.3 * torch.randn(400, 20)
pretrain(data)
