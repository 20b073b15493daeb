import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self, d_obs, d_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_obs, 32), nn.ReLU())
        self.mu = nn.Linear(32, d_act)
        self.log_std = nn.Linear(32, d_act)

    def forward(self, obs):
        h = self.body(obs)
        dist = Normal(self.mu(h), self.log_std(h).clamp(-3, 1).exp())
        act = dist.rsample()
        return act, dist.log_prob(act).sum(1), dist.mean


def true_reward(obs, act):
    return -(act - obs[:, :1]).pow(2).sum(1)


actor = Actor(3, 1)
critic = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 1))
opt_a = torch.optim.Adam(actor.parameters(), lr=5e-3)
opt_c = torch.optim.Adam(critic.parameters(), lr=5e-3)
alpha = 0.05
for it in range(300):
    obs = torch.randn(128, 3)
    with torch.no_grad():
        explore = 2 * torch.randn(128, 1)
        reward = true_reward(obs, explore)
    q = critic(torch.cat([obs, explore], 1)).squeeze(1)
    c_loss = nn.functional.mse_loss(q, reward)
    opt_c.zero_grad()
    c_loss.backward()
    opt_c.step()

    act, logp, mean = actor(obs)
    a_loss = (alpha * logp - critic(torch.cat([obs, act], 1)).squeeze(1)).mean()
    opt_a.zero_grad()
    a_loss.backward()
    opt_a.step()
    if it % 100 == 99:
        print(f"it {it + 1} critic {c_loss.item():.3f} actor {a_loss.item():.3f} "
              f"reward of mean action {true_reward(obs, mean).mean().item():.3f}")
