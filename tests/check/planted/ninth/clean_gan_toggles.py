# A GAN on a line; the discriminator is frozen while the generator learns
import torch
from torch import nn

torch.manual_seed(102)
G = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
D = nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.5, 0.9)), torch.optim.Adam(D.parameters(), 1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(40):
    real = torch.randn(32, 1) * 0.5 + 2
    D.requires_grad_(True)
    od.zero_grad()
    loss_d = bce(D(real), one) + bce(D(G(torch.randn(32, 3)).detach()), zero)
    loss_d.backward()
    od.step()
    D.requires_grad_(False)
    og.zero_grad()
    loss_g = bce(D(G(torch.randn(32, 3))), one)
    loss_g.backward()
    og.step()
print(loss_d.item(), loss_g.item())
