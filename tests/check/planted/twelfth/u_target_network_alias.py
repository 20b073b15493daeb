"""Double DQN: the target network is meant to lag behind."""

import torch
from torch import nn


class Agent:
    def __init__(self, obs, actions):
        self.online = nn.Sequential(nn.Linear(obs, 32), nn.ReLU(), nn.Linear(32, actions))
        self.target = self.online  # BUG param-shared
        self.optim = torch.optim.Adam(self.online.parameters(), lr=1e-3)

    def sync(self):
        self.target.load_state_dict(self.online.state_dict())

    def learn(self, obs, act, rew, nxt):
        with torch.no_grad():
            best = self.online(nxt).argmax(1, keepdim=True)
            value = rew + 0.9 * self.target(nxt).gather(1, best).squeeze(1)
        q = self.online(obs).gather(1, act[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q, value)
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()


torch.manual_seed(45)
agent = Agent(6, 3)
for t in range(60):
    obs, nxt = torch.randn(32, 6), torch.randn(32, 6)
    act = torch.randint(0, 3, (32,))
    rew = obs.gather(1, act[:, None]).squeeze(1)
    loss = agent.learn(obs, act, rew, nxt)
    if t % 10 == 9:
        agent.sync()
print(loss)
