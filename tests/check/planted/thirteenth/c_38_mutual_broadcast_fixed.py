"""Advantage actor-critic on a one-step tracking task."""
import torch
import torch.nn as nn
from torch.distributions import Normal


class ActorCritic(nn.Module):
    def __init__(self, n_obs=3, hidden=32):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh())
        self.mu = nn.Linear(hidden, 1)
        self.log_std = nn.Parameter(torch.full((1,), -0.5))
        self.value = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.shared(obs)
        return Normal(self.mu(h).squeeze(-1), self.log_std.exp()), self.value(h)


def reward_fn(obs, action):
    ideal = obs[:, 0] - 0.5 * obs[:, 1]
    return -((action - ideal) ** 2) + obs[:, 2]


def update(model, optimizer, batch=128):
    obs = torch.randn(batch, 3)
    dist, value = model(obs)
    action = dist.sample()
    returns = reward_fn(obs, action)
    advantage = returns - value.squeeze(-1)
    policy_loss = -(dist.log_prob(action) * advantage.detach()).mean()
    value_loss = advantage.pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.001 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return returns.mean().item(), value_loss.item()


@torch.no_grad()
def greedy_error(model):
    obs = torch.randn(500, 3)
    dist, value = model(obs)
    reward = reward_fn(obs, dist.mean)
    return reward.mean().item(), (value.squeeze(-1) - reward).pow(2).mean().item()


if __name__ == "__main__":
    torch.manual_seed(5)
    net = ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for i in range(400):
        mean_return, v_loss = update(net, opt)
        if i % 100 == 99:
            print(f"update {i + 1} return {mean_return:.3f} value loss {v_loss:.3f}")
    print("greedy return %.3f, value mse %.3f" % greedy_error(net))
