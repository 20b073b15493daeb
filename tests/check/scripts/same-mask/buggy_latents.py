import torch
from torch import nn

torch.manual_seed(34)
BATCH, LATENT = 32, 4
real_data = torch.randn(1000, 2) * torch.tensor([1.0, 0.3]) + 2
G = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
z = torch.randn(BATCH, LATENT)  # <- finding
for step in range(60):
    real = real_data[torch.randint(0, 1000, (BATCH,))]
    fake = G(z)
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_loss = bce(D(fake), ones)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 20 == 0:
        print(step, d_loss.item(), g_loss.item())
