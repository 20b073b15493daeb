"""REINFORCE on a bandit with an exponential average of the loss for reporting and as baseline."""
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)


class Ema:
    def __init__(self, beta=0.95):
        self.beta, self.value = beta, None

    def __call__(self, x):
        self.value = x if self.value is None else self.beta * self.value + (1 - self.beta) * x  # BUG graph-kept|memory-growth
        return self.value


def depth(fn, limit=100000):
    n, seen, todo = 0, set(), [fn] if fn else []
    while todo and n < limit:
        f = todo.pop()
        if f in seen:
            continue
        seen.add(f)
        n += 1
        todo += [g for g, _ in f.next_functions if g is not None]
    return n


smooth = Ema()
for step in range(301):
    ctx = torch.randn(64, 4)
    dist = torch.distributions.Categorical(logits=policy(ctx))
    act = dist.sample()
    reward = (act == ctx.argmax(1)).float()
    loss = -(dist.log_prob(act) * (reward - 0.5)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    shown = smooth(loss)  # BUG graph-kept|memory-growth
    if step % 100 == 0:
        print(step, f"reward {reward.mean():.2f} smoothed {shown.item():.4f} nodes alive {depth(shown.grad_fn)}")
