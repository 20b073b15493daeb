import torch
import torch.nn as nn
from torch.distributions import Bernoulli, Normal, kl_divergence

torch.manual_seed(0)


class BinaryVAE(nn.Module):
    def __init__(self, pixels=49, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 64), nn.Tanh(), nn.Linear(64, 2 * latent))
        self.decoder = nn.Sequential(
            nn.Linear(latent, 64),
            nn.Tanh(),
            nn.Linear(64, pixels),
        )

    def forward(self, x):
        mu, log_sigma = self.encoder(x).chunk(2, dim=1)
        posterior = Normal(mu, log_sigma.exp())
        z = posterior.rsample()
        return Bernoulli(logits=self.decoder(z)), posterior


def crosses(n):
    """7x7 binary pictures: one full row and one full column."""
    picture = torch.zeros(n, 7, 7)
    rows = torch.arange(n)
    picture[rows, torch.randint(0, 7, (n,)), :] = 1
    picture[rows, :, torch.randint(0, 7, (n,))] = 1
    return picture.flatten(1)


data = crosses(1000)
vae = BinaryVAE()
prior = Normal(torch.zeros(3), torch.ones(3))
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(200):
    x = data[torch.randint(0, len(data), (100,))]
    likelihood, posterior = vae(x)
    nll = -likelihood.log_prob(x).sum(1).mean()
    kl = kl_divergence(posterior, prior).sum(1).mean()
    optimizer.zero_grad()
    (nll + 0.5 * kl).backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1} nll {nll.item():.2f} kl {kl.item():.2f}")
