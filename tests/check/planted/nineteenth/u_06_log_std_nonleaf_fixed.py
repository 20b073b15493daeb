"""PPO on a point that must be steered to the origin, Gaussian policy."""
import torch
from torch import nn
from torch.distributions import Normal


class Agent(nn.Module):
    def __init__(self, obs=2, act=2):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.v = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(act) - 0.5)

    def dist(self, s):
        return Normal(self.pi(s), self.log_std.exp())

    def value(self, s):
        return self.v(s).squeeze(-1)


@torch.no_grad()
def collect(agent, envs=32, length=8, gamma=0.9):
    s = torch.randn(envs, 2)
    S, A, L, R = [], [], [], []
    for _ in range(length):
        d = agent.dist(s)
        a = d.sample()
        S.append(s); A.append(a); L.append(d.log_prob(a).sum(-1))
        s = s + 0.3 * a.clamp(-1, 1)
        R.append(-s.pow(2).sum(-1))
    ret, out = torch.zeros(envs), []
    for r in reversed(R):
        ret = r + gamma * ret
        out.append(ret)
    ret = torch.stack(out[::-1]).flatten()
    S, A, L = torch.cat(S), torch.cat(A), torch.cat(L)
    adv = ret - agent.value(S)
    return S, A, L, ret, (adv - adv.mean()) / (adv.std() + 1e-8)


def update(agent, opt, batch, clip=0.2, epochs=3, size=64):
    S, A, L, ret, adv = batch
    for _ in range(epochs):
        for i in torch.randperm(len(S)).split(size):
            d = agent.dist(S[i])
            ratio = (d.log_prob(A[i]).sum(-1) - L[i]).exp()
            surrogate = torch.min(ratio * adv[i], ratio.clamp(1 - clip, 1 + clip) * adv[i])
            value_loss = (agent.value(S[i]) - ret[i]).pow(2).mean()
            loss = -surrogate.mean() + 0.5 * value_loss - 0.01 * d.entropy().sum(-1).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
    return loss.item()


torch.manual_seed(0)
agent = Agent()
opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
for it in range(8):
    batch = collect(agent)
    print(it, batch[3].mean().item(), update(agent, opt, batch))
