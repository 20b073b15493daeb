"""A game whose losses stay near log 2 by design: a critic that is held at the level of guessing."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
encoder, critic = nn.Linear(4, 3), nn.Linear(3, 1)
opt_e = torch.optim.SGD(encoder.parameters(), lr=0.05)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.05)
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
for _ in range(60):
    real, fake = torch.randn(16, 3), encoder(torch.randn(16, 4))
    c_loss = F.binary_cross_entropy_with_logits(critic(real), ones) + F.binary_cross_entropy_with_logits(
        critic(fake.detach()), zeros
    )
    opt_c.zero_grad()
    c_loss.backward()
    opt_c.step()
    e_loss = F.binary_cross_entropy_with_logits(critic(fake), ones)
    opt_e.zero_grad()
    e_loss.backward()
    opt_e.step()
print(c_loss.item(), e_loss.item())
