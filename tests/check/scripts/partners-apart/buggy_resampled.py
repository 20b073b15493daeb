"""Policy gradient with a baseline on a bandit with contexts."""
import torch
from torch import nn
from torch.distributions import Categorical


class ContextBandit:
    def __init__(self, arms=4, features=6):
        self.w = torch.randn(features, arms)

    def contexts(self, n):
        return torch.randn(n, self.w.shape[0])

    def pull(self, context, arm):
        mean = (context @ self.w).gather(1, arm.unsqueeze(1)).squeeze(1)
        return mean + 0.1 * torch.randn(len(arm))


class Agent:
    def __init__(self, features, arms):
        self.policy = nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, arms))
        self.value = nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, 1))
        self.optimizer = torch.optim.Adam([*self.policy.parameters(), *self.value.parameters()], lr=5e-3)

    def update(self, bandit, n=64):
        context = bandit.contexts(n)
        dist = Categorical(logits=self.policy(context))
        reward = bandit.pull(context, dist.sample())
        action = dist.sample()  # <- finding
        value = self.value(context).squeeze(1)
        advantage = (reward - value).detach()
        loss = -(dist.log_prob(action) * advantage).mean() + 0.5 * (value - reward).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return reward.mean().item()


def main():
    torch.manual_seed(21)
    bandit = ContextBandit()
    agent = Agent(6, 4)
    for step in range(120):
        reward = agent.update(bandit)
        if step % 30 == 0:
            print(f"step {step} mean reward {reward:.3f}")


main()
