"""Actor-critic on a one-dimensional walk."""
import torch
from torch import nn
from torch.distributions import Categorical


class Walk:
    def __init__(self, size=6):
        self.size = size

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        return torch.tensor([self.pos / self.size, self.t / 20.0])

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        done = abs(self.pos) >= self.size or self.t >= 20
        return self.obs(), float(self.pos >= self.size) - 0.02, done


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
        self.critic = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


def discounted(rewards, gamma=0.97):
    out, r = [], 0.0
    for x in reversed(rewards):
        r = x + gamma * r
        out.insert(0, r)
    return torch.tensor(out)


torch.manual_seed(0)
env, net = Walk(), ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for episode in range(60):
    obs, done = env.reset(), False
    logps, values, rewards = [], [], []
    while not done:
        dist, v = net(obs)
        a = dist.sample()
        obs, r, done = env.step(a.item())
        logps.append(dist.log_prob(a))
        values.append(v)
        rewards.append(r)
    returns = discounted(rewards)
    advantage = returns - torch.stack(values)
    policy_loss = -(torch.stack(logps) * advantage.detach()).mean()
    loss = policy_loss + 0.5 * advantage.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 20 == 19:
        print(episode, sum(rewards))
