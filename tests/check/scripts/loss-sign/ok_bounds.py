"""An evidence bound, its minus in front of all of it, and a soft actor's log-probability."""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
x = torch.randn(32, 6)
prior = Normal(torch.zeros(2), torch.ones(2))
for step in range(6):
    mu, logvar = encoder(x).chunk(2, 1)
    posterior = Normal(mu, (0.5 * logvar).exp())
    z = posterior.rsample()
    likelihood = Normal(decoder(z), 1.0).log_prob(x).sum(1)
    bound = (likelihood - kl_divergence(posterior, prior).sum(1)).mean()
    soft = (0.1 * posterior.log_prob(z).sum(1) - z.sum(1)).mean()
    loss = -bound + soft
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
