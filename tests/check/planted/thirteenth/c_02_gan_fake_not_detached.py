import torch
from torch import nn

torch.manual_seed(0)
Z_DIM, BATCH, STEPS = 4, 64, 600


def sample_real(n):
    return torch.randn(n, 1) * 0.5 + 3.0


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z_DIM, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x)


gen, disc = Generator(), Discriminator()
opt_g = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(disc.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for step in range(STEPS):
    opt_d.zero_grad()
    opt_g.zero_grad()  # BUG gan-fake-not-detached|leftover-gradients
    real = sample_real(BATCH)
    fake = gen(torch.randn(BATCH, Z_DIM))  # BUG gan-fake-not-detached|leftover-gradients

    # discriminator
    loss_d = bce(disc(real), ones) + bce(disc(fake), zeros)  # BUG gan-fake-not-detached|leftover-gradients
    loss_d.backward(retain_graph=True)  # BUG gan-fake-not-detached|leftover-gradients
    opt_d.step()

    # generator
    loss_g = bce(disc(fake), ones)  # BUG gan-fake-not-detached|leftover-gradients
    loss_g.backward()  # BUG gan-fake-not-detached|leftover-gradients
    opt_g.step()

    if step % 100 == 0:
        print(f"{step:4d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}")

with torch.no_grad():
    out = gen(torch.randn(2000, Z_DIM))
print(f"generated mean {out.mean().item():.3f} std {out.std().item():.3f} (data 3.0 / 0.5)")
