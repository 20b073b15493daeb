"""Proximal policy optimisation on a contextual bandit."""
import torch
from torch import nn
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, features=6, actions=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 32), nn.Tanh(), nn.Linear(32, actions))

    def forward(self, x):
        return Categorical(logits=self.net(x))


def collect(actor, w, n=128):
    x = torch.randn(n, 6)
    with torch.no_grad():
        dist = actor(x)
        action = dist.sample()
        old = dist.log_prob(action)
    reward = (x @ w).gather(1, action.unsqueeze(1)).squeeze(1)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-8)
    return x, action, old, advantage, reward


def surrogate(dist, action, old, advantage, eps=0.2):
    ratio = torch.exp(dist.log_prob(action) - old)
    clipped = ratio.clamp(1 + eps, 1 - eps)  # <- finding
    return -torch.min(ratio * advantage, clipped * advantage).mean()


def main():
    torch.manual_seed(46)
    w = torch.randn(6, 4)
    actor = Actor()
    optimizer = torch.optim.Adam(actor.parameters(), lr=5e-3)
    for update in range(20):
        x, action, old, advantage, reward = collect(actor, w)
        for _ in range(3):
            for rows in torch.randperm(len(x)).split(32):
                dist = actor(x[rows])
                loss = surrogate(dist, action[rows], old[rows], advantage[rows]) - 0.01 * dist.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        if update % 5 == 0:
            print(f"update {update} reward {reward.mean().item():.3f}")


main()
