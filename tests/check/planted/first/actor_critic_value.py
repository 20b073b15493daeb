"""Fit a value function to Monte-Carlo returns of random trajectories."""
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, n_obs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs):
        return self.net(obs)


def rollouts(n):
    obs = torch.randn(n, 4)
    returns = 2 * obs[:, 0] - obs[:, 1] + 0.1 * torch.randn(n)
    return obs, returns


def main():
    torch.manual_seed(0)
    critic = Critic(4)
    opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
    for it in range(250):
        obs, ret = rollouts(64)
        adv = ret - critic(obs)  # BUG mutual-broadcast
        value_loss = 0.5 * adv.pow(2).mean()
        opt.zero_grad()
        value_loss.backward()
        opt.step()
    with torch.no_grad():
        obs, ret = rollouts(500)
        v = critic(obs).squeeze(-1)
        ev = 1 - (ret - v).var() / ret.var()
    print(f"explained variance {ev:.3f}")


main()
