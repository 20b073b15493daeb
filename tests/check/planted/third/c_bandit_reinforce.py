import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self, n_context, n_arms):
        super().__init__()
        self.l1 = nn.Linear(n_context, 32)
        self.l2 = nn.Linear(32, n_arms)

    def forward(self, context):
        h = torch.tanh(self.l1(context))
        return torch.softmax(self.l2(h), dim=-1)  # BUG probs-as-logits


class ContextualBandit:
    """Arm k pays off when the context points into its direction."""

    def __init__(self, n_context=6, n_arms=5):
        self.directions = torch.randn(n_arms, n_context)

    def contexts(self, n):
        return torch.randn(n, self.directions.shape[1])

    def pull(self, context, arm):
        pay = (context * self.directions[arm]).sum(-1)
        return torch.sigmoid(pay) + 0.1 * torch.randn(len(arm))


env = ContextualBandit()
policy = Policy(6, 5)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
baseline = 0.0

for episode in range(200):
    context = env.contexts(128)
    dist = Categorical(logits=policy(context))  # BUG probs-as-logits
    arm = dist.sample()
    reward = env.pull(context, arm)
    advantage = reward - baseline
    loss = -(dist.log_prob(arm) * advantage).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    if episode % 40 == 39:
        print(f"episode {episode + 1}: mean reward {reward.mean().item():.3f} "
              f"entropy {dist.entropy().mean().item():.3f}")
