import torch
import torch.nn as nn

torch.manual_seed(0)

pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(pi.parameters(), lr=1e-3)
for it in range(10):
    s = torch.randn(64, 4)
    with torch.no_grad():
        a = torch.distributions.Categorical(logits=pi(s)).sample()

    adv = s[:, 0] * (a.float() - 1)
    for epoch in range(4):
        logp = torch.distributions.Categorical(logits=pi(s)).log_prob(a)
        old = torch.distributions.Categorical(logits=pi(s)).log_prob(
            a
        )  # BUG ratio-always-one|target-not-detached|gradient-cut
        ratio = (logp - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
