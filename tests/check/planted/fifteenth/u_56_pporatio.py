"""PPO on a contextual bandit."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, n))

    def dist(self, obs):
        return Categorical(logits=self.net(obs))


class PPO:
    def __init__(self, policy, lr=1e-2, clip=0.2, epochs=4):
        self.policy, self.clip, self.epochs = policy, clip, epochs
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)

    @torch.no_grad()
    def log_prob(self, obs, act):
        return self.policy.dist(obs).log_prob(act)

    def update(self, obs, act, adv):
        for _ in range(self.epochs):
            new = self.policy.dist(obs).log_prob(act)
            ratio = (new - self.log_prob(obs, act)).exp()  # BUG ratio-always-one
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip)  # BUG ratio-always-one
            loss = -torch.min(ratio * adv, clipped * adv).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


torch.manual_seed(0)
d, n = 6, 4
w = torch.randn(d, n)
policy = Policy(d, n)
ppo = PPO(policy)
for it in range(30):
    obs = torch.randn(128, d)
    with torch.no_grad():
        act = policy.dist(obs).sample()
    reward = (act == (obs @ w).argmax(1)).float()
    adv = (reward - reward.mean()) / (reward.std() + 1e-6)
    ppo.update(obs, act, adv)
    if it % 10 == 9:
        print(it, reward.mean().item())
