# A one-dimensional GAN: detach in the discriminator step, none in the generator step
import torch
from torch import nn

torch.manual_seed(6)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
D = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.9))
od = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(300):
    real = 3 + 0.5 * torch.randn(64, 1)
    fake = G(torch.randn(64, 4))
    loss_d = bce(D(real), one) + bce(D(fake.detach()), zero)
    od.zero_grad()
    loss_d.backward()
    od.step()

    loss_g = bce(D(fake), one)
    og.zero_grad()
    loss_g.backward()
    og.step()
    if step % 100 == 99:
        print(step + 1, "D", loss_d.item(), "G", loss_g.item(), "mean", fake.mean().item())
