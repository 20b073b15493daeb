import torch
from torch import nn

torch.manual_seed(20)
Z = 8
G = nn.Sequential(nn.Linear(Z, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def real_batch(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1) * 0.5 + torch.tensor([2.0, 1.0])


for step in range(300):
    real = real_batch(64)
    ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
    fake = G(torch.randn(64, Z))

    opt_d.zero_grad()
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = bce(D(fake), zeros)  # BUG generator-labels
    loss_g.backward()
    opt_g.step()
    if step % 60 == 59:
        print(step, loss_d.item(), loss_g.item(), fake.detach().mean(0).tolist())
