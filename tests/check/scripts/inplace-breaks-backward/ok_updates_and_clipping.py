"""Weights are clipped through `.data` after the step and updated by hand without a graph, as a Wasserstein critic does it."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=0.001)
offset = torch.zeros(2, requires_grad=True)
average = [p.data.clone() for p in critic.parameters()]
for step in range(5):
    real, fake = torch.randn(16, 2), torch.randn(16, 2) + offset
    loss = critic(fake.detach()).mean() - critic(real).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p, a in zip(critic.parameters(), average):
        p.data.clamp_(-0.05, 0.05)
        a.mul_(0.9).add_(p.data, alpha=0.1)
    (-critic(fake).mean()).backward()
    with torch.no_grad():
        offset -= 0.1 * offset.grad
    offset.grad.zero_()
print(offset.tolist())
