"""PPO on a one-step control task with a Gaussian policy."""
import torch
from torch import nn
from torch.distributions import Normal


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, s):
        return Normal(self.mu(s).squeeze(-1), self.log_std.exp())


torch.manual_seed(0)
pi = Actor()
v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()], lr=5e-3)
for it in range(60):
    with torch.no_grad():
        s = torch.randn(128, 3)
        a = pi(s).sample()
        old = pi(s).log_prob(a)
        r = -(a - s[:, 0] + s[:, 1]).pow(2)
        adv = r - v(s).squeeze(-1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    for _ in range(4):
        for idx in torch.randperm(128).split(64):
            ratio = (pi(s[idx]).log_prob(a[idx]) - old[idx]).exp()
            surrogate = torch.min(ratio * adv[idx], ratio.clamp(0.8, 1.2) * adv[idx])
            loss = -surrogate.mean() + 0.5 * (v(s[idx]).squeeze(-1) - r[idx]).pow(2).mean() * 0.1
            opt.zero_grad()
            loss.backward()
            opt.step()
print("mean reward", r.mean().item(), "std of the policy", pi.log_std.exp().item())
