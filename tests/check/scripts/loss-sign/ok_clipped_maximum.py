import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(41)
mean = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))
log_std = nn.Parameter(torch.zeros(1))
opt = torch.optim.Adam([*mean.parameters(), log_std], lr=3e-3)
for it in range(8):
    s = torch.randn(100, 2)
    with torch.no_grad():
        d = Normal(mean(s), log_std.exp())
        a = d.sample()
        old = d.log_prob(a)
    reward = -(a.squeeze(1) - s.sum(1)) ** 2
    adv = ((reward - reward.mean()) / reward.std())[:, None]
    for _ in range(4):
        ratio = (Normal(mean(s), log_std.exp()).log_prob(a) - old).exp()
        clipped = torch.clamp(ratio, 0.8, 1.2)
        loss = -torch.min(ratio * adv, clipped * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(it, reward.mean().item())
