"""Actor and critic share one forward pass; the two updates follow each other."""
import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1), nn.Tanh())
critic = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
c_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)


def q(s, a):
    return critic(torch.cat([s, a], 1))


def reward_of(s, a):
    return -(a - s[:, :1].tanh() * 0.8).square()


for step in range(300):
    s = torch.randn(128, 3)
    a = (actor(s).detach() + 0.4 * torch.randn(128, 1)).clamp(-1, 1)
    critic_loss = nn.functional.mse_loss(q(s, a), reward_of(s, a))
    actor_loss = -q(s, actor(s)).mean()  # BUG inplace-breaks-backward
    c_opt.zero_grad()
    critic_loss.backward()
    c_opt.step()  # BUG inplace-breaks-backward

    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()
    if step % 75 == 0:
        print(step, f"critic {critic_loss.item():.4f} reward {reward_of(s, actor(s)).mean().item():.4f}")
print("final reward", round(reward_of(s, actor(s)).mean().item(), 4))
