# REINFORCE on a contextual bandit
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, n_ctx, n_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_ctx, 32), nn.Tanh(), nn.Linear(32, n_act), nn.Softmax(-1))

    def act(self, ctx):
        out = self.body(ctx)
        dist = Categorical(logits=out)  # BUG probs-as-logits
        a = dist.sample()
        return a, dist.log_prob(a), dist.entropy()


torch.manual_seed(11)
policy = Policy(4, 6)
opt = torch.optim.Adam(policy.parameters(), lr=0.02)
best = torch.randn(4, 6)
baseline = 0.0
for it in range(250):
    ctx = torch.randn(64, 4)
    action, logp, ent = policy.act(ctx)
    reward = ((ctx @ best).argmax(1) == action).float()
    baseline = 0.9 * baseline + 0.1 * reward.mean().item()
    loss = -((reward - baseline) * logp).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 49:
        print(f"iteration {it + 1} reward {reward.mean():.3f} entropy {ent.mean():.3f}")
