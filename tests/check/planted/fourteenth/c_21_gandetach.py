import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
Z, BS, STEPS = 4, 64, 400


def real_batch(n):
    k = torch.randint(0, 4, (n,))
    ang = k.float() * 1.5708
    return torch.stack([ang.cos(), ang.sin()], 1) * 2 + 0.1 * torch.randn(n, 2) + 3.0


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


G, D = Generator(), Discriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))


def bce(logit, value):
    return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, value))


for step in range(STEPS):
    real = real_batch(BS)
    fake = G(torch.randn(BS, Z)).detach()  # BUG gradient-cut

    opt_d.zero_grad()
    d_loss = bce(D(real), 0.9) + bce(D(fake), 0.0)
    d_loss.backward()
    opt_d.step()

    opt_g.zero_grad()
    g_loss = bce(D(fake), 1.0)  # BUG gradient-cut
    g_loss.backward()
    opt_g.step()

    if step % 100 == 0:
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")

G.eval()
with torch.no_grad():
    s = G(torch.randn(1000, Z))
    r = real_batch(1000)
print("final mean gap %.3f std gap %.3f" % ((s.mean(0) - r.mean(0)).norm(), (s.std(0) - r.std(0)).norm()))
