"""GAN with a criterion object shared by both players."""
import torch
import torch.nn as nn


class GANLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.crit = nn.BCEWithLogitsLoss()

    def forward(self, score, is_real):
        return self.crit(score, torch.full_like(score, float(is_real)))  # BUG sigmoid-before-bce-logits


def generator():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))


def discriminator():
    return nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())  # BUG sigmoid-before-bce-logits


torch.manual_seed(2)
g, d, gan = generator(), discriminator(), GANLoss()
og = torch.optim.Adam(g.parameters(), lr=2e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(d.parameters(), lr=2e-3, betas=(0.5, 0.99))
for step in range(300):
    real = 3 + 0.5 * torch.randn(64, 1)
    fake = g(torch.randn(64, 4))
    loss_d = gan(d(real), True) + gan(d(fake.detach()), False)
    od.zero_grad()
    loss_d.backward()
    od.step()
    loss_g = gan(d(fake), True)
    og.zero_grad()
    loss_g.backward()
    og.step()
with torch.no_grad():
    s = g(torch.randn(1000, 4))
print("d loss", loss_d.item(), "fake mean", s.mean().item(), "(real 3)")
