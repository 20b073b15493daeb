import torch
import torch.nn as nn
import torch.nn.functional as F


class DriftEnv:
    """Batched: stay near the origin of a line; reward falls with the distance."""

    def __init__(self, n):
        self.x = torch.rand(n) * 2 - 1

    def observe(self):
        return torch.stack([self.x, self.x.abs()], dim=1)

    def step(self, action):
        self.x = (self.x + 0.2 * (action.float() - 1) + 0.05 * torch.randn_like(self.x)).clamp(-2, 2)
        return 0.8 - self.x.abs()


def rollout(policy, n=32, horizon=12):
    env = DriftEnv(n)
    obs, actions, rewards = [], [], []
    with torch.no_grad():
        for _ in range(horizon):
            o = env.observe()
            a = torch.distributions.Categorical(logits=policy(o)).sample()
            obs.append(o)
            actions.append(a)
            rewards.append(env.step(a))
    return torch.stack(obs), torch.stack(actions), torch.stack(rewards)


def reward_to_go(rewards, actions, gamma):
    returns = torch.zeros_like(actions)  # BUG label-dtype
    running = torch.zeros(rewards.size(1))
    for t in reversed(range(rewards.size(0))):
        running = rewards[t] + gamma * running
        returns[t] = running  # BUG label-dtype
    return returns


def main():
    torch.manual_seed(2)
    policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 3))
    critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=1e-2)
    for it in range(120):
        obs, actions, rewards = rollout(policy)
        returns = reward_to_go(rewards, actions, gamma=0.5)
        value = critic(obs).squeeze(-1)
        advantage = (returns - value).detach()
        logp = torch.distributions.Categorical(logits=policy(obs)).log_prob(actions)
        loss = -(logp * advantage).mean() + F.mse_loss(value, returns.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 30 == 29:
            exact = torch.zeros(rewards.size(1))
            for t in reversed(range(rewards.size(0))):
                exact = rewards[t] + 0.5 * exact
            gap = (critic(obs[0]).squeeze(-1) - exact).abs().mean().item()
            print(f"iteration {it + 1} mean reward {rewards.mean().item():.3f} value gap {gap:.3f}")


main()
