import torch
from torch import nn

torch.manual_seed(0)
latent, data_dim, bs = 4, 2, 64

G = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, data_dim))
D = nn.Sequential(nn.Linear(data_dim, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(bs, 1), torch.zeros(bs, 1)
centre = torch.tensor([2.0, -1.0])


def real_batch():
    return centre + 0.3 * torch.randn(bs, data_dim)


for it in range(400):
    opt_g.zero_grad()
    opt_d.zero_grad()
    real = real_batch()
    fake = G(torch.randn(bs, latent))

    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()

    g_loss = bce(D(G(torch.randn(bs, latent))), ones)
    g_loss.backward()
    opt_g.step()

    if it % 100 == 99:
        with torch.no_grad():
            gap = (G(torch.randn(500, latent)).mean(0) - centre).norm().item()
        print(f"it {it + 1} d {d_loss.item():.3f} g {g_loss.item():.3f} gap {gap:.3f}")
