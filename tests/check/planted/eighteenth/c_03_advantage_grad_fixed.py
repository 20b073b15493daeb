import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(52)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.Tanh())
        self.actor = nn.Linear(32, 4)
        self.critic = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


secret = torch.randn(5, 4)


def environment(states, actions):
    good = (states @ secret).argmax(1)
    return (actions == good).float() + 0.1 * torch.randn(len(states))


net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    states = torch.randn(64, 5)
    dist, values = net(states)
    actions = dist.sample()
    returns = environment(states, actions)
    advantage = returns - values.detach()
    actor_loss = -(dist.log_prob(actions) * advantage).mean()
    critic_loss = F.mse_loss(values, returns)
    loss = actor_loss + 0.5 * critic_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(step, returns.mean().item(), critic_loss.item())
