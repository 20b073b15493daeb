"""Each part has an optimizer of its own, one is made late, some parameters are updated by hand, others through groups."""

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
log_std = torch.zeros(2, requires_grad=True)
offset = torch.zeros(1, requires_grad=True)
actor_optimizer = torch.optim.Adam([{"params": actor.parameters()}], lr=0.01)
actor_optimizer.add_param_group({"params": [log_std], "lr": 0.001})
critic_optimizer = None
for step in range(6):
    states, rewards = torch.randn(16, 4), torch.randn(16)
    if step == 2:
        critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.05)
    values = critic(states).squeeze(-1) + offset
    policy = torch.distributions.Normal(actor(states), log_std.exp())
    gain = (rewards - values).detach()
    loss = -(policy.log_prob(policy.sample()).sum(-1) * gain).mean() + (rewards - values).pow(2).mean()
    actor_optimizer.zero_grad()
    critic.zero_grad()
    loss.backward()
    actor_optimizer.step()
    if critic_optimizer is not None:
        critic_optimizer.step()
    with torch.no_grad():
        offset -= 0.1 * offset.grad
    offset.grad = None
print(loss.item())
