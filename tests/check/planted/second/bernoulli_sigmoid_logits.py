"""VAE with a Bernoulli decoder for binary patterns."""
import torch
from torch import nn
from torch.distributions import Bernoulli, Normal, kl_divergence


class BinaryVAE(nn.Module):
    def __init__(self, d=24, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 48), nn.ReLU(), nn.Linear(48, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, d), nn.Sigmoid())

    def elbo(self, x):
        mu, s = self.enc(x).chunk(2, -1)
        q = Normal(mu, nn.functional.softplus(s) + 1e-3)
        z = q.rsample()
        px = Bernoulli(logits=self.dec(z))  # BUG probs-as-logits
        kl = kl_divergence(q, Normal(torch.zeros_like(mu), torch.ones_like(mu)))
        return (px.log_prob(x).sum(1) - kl.sum(1)).mean()


def patterns(n):
    protos = torch.rand(5, 24, generator=torch.Generator().manual_seed(4)) < 0.5
    x = protos[torch.randint(0, 5, (n,))]
    flip = torch.rand(n, 24) < 0.03
    return (x ^ flip).float()


torch.manual_seed(0)
vae = BinaryVAE()
opt = torch.optim.Adam(vae.parameters(), lr=4e-3)
for step in range(300):
    loss = -vae.elbo(patterns(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("negative elbo", loss.item(), "(coin flips: 16.6)")
