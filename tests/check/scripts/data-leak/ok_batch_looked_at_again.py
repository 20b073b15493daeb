import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
a_opt, c_opt = torch.optim.Adam(actor.parameters(), lr=1e-2), torch.optim.Adam(critic.parameters(), lr=1e-2)


def reward(s, a):
    return -(a - s[:, :1]).square()


for step in range(48):
    s = torch.randn(600, 3)
    a = actor(s).detach() + 0.3 * torch.randn(600, 1)
    critic_loss = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), reward(s, a))
    c_opt.zero_grad()
    critic_loss.backward()
    c_opt.step()
    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()
    if step % 12 == 0:
        print(step, reward(s, actor(s)).mean().item())
