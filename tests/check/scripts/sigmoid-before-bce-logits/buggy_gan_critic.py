"""A discriminator that returns probabilities, in a GAN whose loss takes logits."""

import torch
from torch import nn
from torch.nn import functional as F


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, x):
        h = F.leaky_relu(self.fc1(x), 0.2)
        return torch.sigmoid(self.fc2(h)).squeeze(-1)  # <- finding


torch.manual_seed(0)
G, D = nn.Linear(3, 2), Discriminator()
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
real = torch.randn(16, 2)
for _ in range(3):
    fake = G(torch.randn(16, 3))
    d_real, d_fake = D(real), D(fake.detach())
    d_loss = F.binary_cross_entropy_with_logits(d_real, torch.ones_like(d_real))
    d_loss = d_loss + F.binary_cross_entropy_with_logits(d_fake, torch.zeros_like(d_fake))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    g_out = D(fake)
    g_loss = F.binary_cross_entropy_with_logits(g_out, torch.ones_like(g_out))
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
print(d_loss.item(), g_loss.item())
