# PPO on a bandit with contexts: old log-probabilities are detached, several epochs on one batch
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(3)
policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 3))
value = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1), nn.Flatten(0))
opt = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=5e-3)
for update in range(12):
    s = torch.randn(128, 3)
    with torch.no_grad():
        d = Categorical(logits=policy(s))
        a = d.sample()
        old = d.log_prob(a)
        r = (a == s.argmax(1)).float()
        adv = r - value(s)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        d = Categorical(logits=policy(s))
        ratio = (d.log_prob(a) - old).exp()
        gain = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        loss = -gain + 0.5 * nn.functional.mse_loss(value(s), r) - 0.01 * d.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*policy.parameters(), *value.parameters()], 0.5)
        opt.step()
print(r.mean().item())
