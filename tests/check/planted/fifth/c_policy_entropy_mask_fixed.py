"""Policy gradient on a contextual bandit with illegal actions and an entropy bonus."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(13)
N_ACT = 5
pay = torch.randn(4, N_ACT)
policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, N_ACT))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)


def contexts(n):
    c = torch.randint(0, 4, (n,))
    legal = torch.rand(n, N_ACT) > 0.3
    legal[:, 0] = True
    return c, F.one_hot(c, 4).float(), legal


for it in range(300):
    c, obs, legal = contexts(64)
    logits = policy(obs).masked_fill(~legal, float("-inf"))
    probs = logits.softmax(-1)
    u = torch.rand(64, N_ACT).clamp(1e-6, 1 - 1e-6)
    action = (logits.detach() - torch.log(-torch.log(u))).argmax(1)      # Gumbel sampling
    reward = pay[c, action] + 0.1 * torch.randn(64)
    logp = torch.log(probs.gather(1, action[:, None]).squeeze(1))
    entropy = -(probs * torch.log(probs.clamp_min(1e-8))).sum(-1)
    loss = -(logp * (reward - reward.mean())).mean() - 0.01 * entropy.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 60 == 59:
        print(f"{it + 1}: loss {loss.item():.4f} entropy {entropy.mean().item():.3f} reward {reward.mean():.3f}")

c, obs, legal = contexts(2000)
with torch.no_grad():
    best = policy(obs).masked_fill(~legal, float("-inf")).argmax(1)
optimum = pay[c].masked_fill(~legal, float("-inf")).max(1).values.mean()
print(f"greedy reward {pay[c, best].mean():.3f}, optimum {optimum:.3f}")
