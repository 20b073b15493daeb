import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
GAMMA, LAM = 0.97, 0.95


class Corridor:
    """Vectorised 1-D corridor: reach +1 for reward, -1 ends with a penalty."""

    def __init__(self, n):
        self.n = n
        self.pos = torch.zeros(n)

    def reset(self):
        self.pos = torch.empty(self.n).uniform_(-0.5, 0.5)
        return self.obs()

    def obs(self):
        return torch.stack([self.pos, self.pos ** 2], 1)

    def step(self, a):
        self.pos = self.pos + (a.float() * 2 - 1) * 0.15 + 0.05 * torch.randn(self.n)
        win, lose = self.pos > 1, self.pos < -1
        done = win | lose
        reward = win.float() - lose.float() - 0.01
        self.pos = torch.where(done, torch.empty(self.n).uniform_(-0.5, 0.5), self.pos)
        return self.obs(), reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.v = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, o):
        return torch.distributions.Categorical(logits=self.pi(o)), self.v(o).squeeze(-1)


def gae(rew, val, done, last):
    adv, run = torch.zeros_like(rew), torch.zeros_like(last)
    for t in reversed(range(len(rew))):
        nxt = last if t == len(rew) - 1 else val[t + 1]
        cont = done[t]  # BUG terminal-not-masked
        delta = rew[t] + GAMMA * nxt * cont - val[t]  # BUG terminal-not-masked
        run = delta + GAMMA * LAM * cont * run  # BUG terminal-not-masked
        adv[t] = run
    return adv, adv + val


env, net = Corridor(16), ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
obs = env.reset()
for it in range(40):
    O, A, R, V, D = [], [], [], [], []
    for _ in range(24):
        with torch.no_grad():
            dist, v = net(obs)
        a = dist.sample()
        nobs, r, d = env.step(a)
        O.append(obs), A.append(a), R.append(r), V.append(v), D.append(d)
        obs = nobs
    with torch.no_grad():
        last = net(obs)[1]
    adv, ret = gae(torch.stack(R), torch.stack(V), torch.stack(D), last)
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    dist, v = net(torch.stack(O))
    loss = -(dist.log_prob(torch.stack(A)) * adv).mean() + 0.5 * F.mse_loss(v, ret) - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, "reward/step %.4f" % torch.stack(R).mean())

print("final reward/step %.4f value at edge %.3f" % (torch.stack(R).mean(), net(torch.tensor([[0.9, 0.81]]))[1].item()))
