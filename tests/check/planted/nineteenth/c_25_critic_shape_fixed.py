"""Advantage actor-critic on a contextual bandit with short episodes."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(33)


class ActorCritic(nn.Module):
    def __init__(self, obs=6, actions=3):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.actor = nn.Linear(32, actions)
        self.critic = nn.Linear(32, 1)

    def forward(self, s):
        h = self.shared(s)
        return Categorical(logits=self.actor(h)), self.critic(h)


def rollout(model, length=10):
    states, actions, rewards = [], [], []
    with torch.no_grad():
        for _ in range(length):
            s = torch.randn(6)
            a = model(s[None])[0].sample()[0]
            rewards.append(1.0 if int(a) == int(s[:3].argmax()) else 0.0)
            states.append(s)
            actions.append(a)
    return torch.stack(states), torch.stack(actions), rewards


def discounted(rewards, gamma=0.5):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        out.append(g)
    return torch.tensor(out[::-1])


net = ActorCritic()
opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
for update in range(60):
    s, a, r = rollout(net)
    returns = discounted(r)
    dist, value = net(s)
    advantage = returns - value.squeeze(-1)
    policy_loss = -(dist.log_prob(a) * advantage.detach()).mean()
    value_loss = advantage.pow(2).mean()
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    if update % 20 == 0:
        print(update, sum(r) / len(r), value_loss.item())
