"""Contextual bandit with a softmax policy and an entropy bonus."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, n_ctx, n_arms):
        super().__init__()
        self.fc1 = nn.Linear(n_ctx, 32)
        self.fc2 = nn.Linear(32, n_arms)

    def forward(self, ctx):
        return torch.softmax(self.fc2(torch.tanh(self.fc1(ctx))), dim=-1)


torch.manual_seed(0)
theta = torch.randn(6, 5)
policy = Policy(6, 5)
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0
for step in range(300):
    ctx = torch.randn(64, 6)
    dist = Categorical(probs=policy(ctx))
    arm = dist.sample()
    reward = (ctx @ theta).gather(1, arm[:, None]).squeeze(1)
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    loss = -(dist.log_prob(arm) * (reward - baseline)).mean() - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    ctx = torch.randn(2000, 6)
    print(f"mean sampled reward {reward.mean():.3f}, best possible {(ctx @ theta).max(1).values.mean():.3f}")
