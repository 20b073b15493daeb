"""Generator and critic share a forward pass, and the critic steps before the generator's backward."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
critic = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
opt_encoder = torch.optim.Adam(encoder.parameters(), lr=0.01)
opt_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
for step in range(3):
    score = critic(encoder(torch.randn(16, 4)))
    critic_loss = (score - 1).pow(2).mean()
    encoder_loss = (score + 1).pow(2).mean()
    opt_critic.zero_grad()
    critic_loss.backward(retain_graph=True)
    opt_critic.step()  # <- finding
    opt_encoder.zero_grad()
    encoder_loss.backward()
    opt_encoder.step()
print(critic_loss.item(), encoder_loss.item())
