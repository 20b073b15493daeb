import torch
import torch.nn as nn
from torch.distributions import Categorical


class ContextualBandit:
    """Four arms; the best arm depends on the quadrant of the context."""

    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def contexts(self, n):
        return torch.rand(n, 2, generator=self.gen) * 2 - 1

    def reward(self, context, action):
        best = (context[:, 0] > 0).long() * 2 + (context[:, 1] > 0).long()
        return (action == best).float()


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 4))

    def forward(self, context):
        return torch.softmax(self.body(context), dim=-1)  # BUG probs-as-logits


def train(iterations=300, batch=128):
    torch.manual_seed(0)
    bandit, policy = ContextualBandit(1), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    baseline = 0.0
    for it in range(iterations):
        context = bandit.contexts(batch)
        dist = Categorical(logits=policy(context))  # BUG probs-as-logits
        action = dist.sample()
        reward = bandit.reward(context, action)
        loss = -((reward - baseline) * dist.log_prob(action)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * reward.mean().item()
        if (it + 1) % 50 == 0:
            print(f"iteration {it + 1}: mean reward {baseline:.3f} entropy {dist.entropy().mean().item():.3f}")


if __name__ == "__main__":
    train()
