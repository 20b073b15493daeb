"""As in a GAN or a constraint: everything is compared with one number."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
one = torch.tensor(1.0)
for _ in range(5):
    real = torch.randn(16, 2) + 2
    optimizer.zero_grad()
    scores = critic(real)
    loss = F.binary_cross_entropy_with_logits(scores, torch.ones_like(scores)) + 0.1 * (scores.mean() - one) ** 2
    loss.backward()
    optimizer.step()
print(loss.item())
