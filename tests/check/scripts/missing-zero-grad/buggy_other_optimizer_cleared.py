"""Before the critic's backward the actor's optimizer is cleared."""

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Linear(3, 1)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
for _ in range(6):
    x = torch.randn(16, 3)
    value_loss = (critic(x) - x.sum(1, keepdim=True)).pow(2).mean()
    actor_optimizer.zero_grad()  # <- finding
    value_loss.backward()
    critic_optimizer.step()
    policy_loss = (actor(x) - critic(x).detach()).pow(2).mean()
    actor_optimizer.zero_grad()
    policy_loss.backward()
    actor_optimizer.step()
