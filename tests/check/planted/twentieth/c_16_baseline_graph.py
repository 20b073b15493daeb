"""REINFORCE with a moving baseline on a bandit with context."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, n_context, n_arms):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_context, 24), nn.Tanh(), nn.Linear(24, n_arms))

    def forward(self, context):
        return Categorical(logits=self.net(context))


class Bandit:
    def __init__(self, n_context, n_arms, seed):
        g = torch.Generator().manual_seed(seed)
        self.weight = torch.randn(n_context, n_arms, generator=g)

    def contexts(self, n):
        return torch.randn(n, self.weight.shape[0])

    def pull(self, context, arm):
        mean = (context @ self.weight).gather(1, arm[:, None]).squeeze(1)
        return mean + 0.1 * torch.randn_like(mean)


def main(steps=50, batch=32, entropy_weight=0.01):
    torch.manual_seed(9)
    env = Bandit(6, 4, seed=1)
    policy = Policy(6, 4)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    baseline = 0.0
    average = 0.0
    for step in range(steps):
        context = env.contexts(batch)
        dist = policy(context)
        arm = dist.sample()
        reward = env.pull(context, arm)
        advantage = reward - baseline
        loss = -(dist.log_prob(arm) * advantage).mean() - entropy_weight * dist.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        baseline = 0.9 * baseline + 0.1 * reward.mean().item()
        average = 0.95 * average + 0.05 * loss  # BUG graph-kept
        if step % 10 == 0:
            print(f"step {step} reward {reward.mean().item():.3f} loss {float(average):.3f}")


if __name__ == "__main__":
    main()
