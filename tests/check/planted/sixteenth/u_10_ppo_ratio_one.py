import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(policy.parameters(), lr=2e-2)
CLIP, EPOCHS = 0.2, 15


def rollout(n=128):
    obs = torch.randn(n, 4)
    with torch.no_grad():
        dist = Categorical(logits=policy(obs))
        act = dist.sample()
        logp = dist.log_prob(act)
    best = obs[:, :3].argmax(1)
    reward = (act == best).float() + 0.5 * torch.randn(n)
    return obs, act, logp, reward


def update(obs, act, logp_old, adv):
    clipped = 0.0
    for _ in range(EPOCHS):
        logp = Categorical(logits=policy(obs)).log_prob(act)
        ratio = torch.exp(logp - logp.detach())  # BUG ppo-ratio|old-log-prob|ratio-always-one
        surr = torch.min(ratio * adv, ratio.clamp(1 - CLIP, 1 + CLIP) * adv)
        loss = -surr.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        clipped += ((ratio - 1).abs() > CLIP).float().mean().item()
    with torch.no_grad():
        new = Categorical(logits=policy(obs)).log_prob(act)
    return clipped / EPOCHS, (logp_old - new).mean().item()


for it in range(12):
    obs, act, logp_old, rew = rollout()
    adv = (rew - rew.mean()) / (rew.std() + 1e-8)
    frac, kl = update(obs, act, logp_old, adv)
    if it % 3 == 2:
        print(f"it {it + 1} reward {rew.mean().item():.3f} clip fraction {frac:.3f} kl {kl:.3f}")
