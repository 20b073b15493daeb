"""Double DQN on a small grid."""
import copy
import random
from collections import deque, namedtuple

import torch
import torch.nn.functional as F
from torch import nn

Transition = namedtuple("Transition", "state action reward next_state done")


class Grid:
    size = 4

    def reset(self):
        self.pos = [random.randrange(self.size), random.randrange(self.size - 1)]
        return self.obs()

    def obs(self):
        v = torch.zeros(2 * self.size)
        v[self.pos[0]] = 1
        v[self.size + self.pos[1]] = 1
        return v

    def step(self, action):
        axis, delta = divmod(action, 2)
        self.pos[axis] = min(max(self.pos[axis] + (1 if delta else -1), 0), self.size - 1)
        done = self.pos == [self.size - 1, self.size - 1]
        return self.obs(), 1.0 if done else -0.05, done


class QNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 32), nn.ReLU(), nn.Linear(32, n_act))

    def forward(self, x):
        return self.body(x)


class Agent:
    def __init__(self, n_obs, n_act, gamma=0.95):
        self.q = QNet(n_obs, n_act)
        self.q_target = copy.copy(self.q)  # BUG param-shared
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.memory = deque(maxlen=500)
        self.gamma, self.n_act = gamma, n_act

    def act(self, obs, eps):
        if random.random() < eps:
            return random.randrange(self.n_act)
        with torch.no_grad():
            return self.q(obs[None]).argmax(1).item()

    def learn(self, size=32):
        if len(self.memory) < size:
            return
        batch = Transition(*zip(*random.sample(self.memory, size)))
        state, nxt = torch.stack(batch.state), torch.stack(batch.next_state)
        action = torch.tensor(batch.action)[:, None]
        reward, done = torch.tensor(batch.reward), torch.tensor(batch.done, dtype=torch.float32)
        value = self.q(state).gather(1, action).squeeze(1)
        with torch.no_grad():
            best = self.q(nxt).argmax(1, keepdim=True)
            target = reward + self.gamma * (1 - done) * self.q_target(nxt).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(value, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def sync(self):
        self.q_target.load_state_dict(self.q.state_dict())


random.seed(0)
torch.manual_seed(0)
env, agent, steps = Grid(), Agent(2 * Grid.size, 4), 0
for episode in range(12):
    obs, total = env.reset(), 0.0
    for _ in range(20):
        action = agent.act(obs, max(0.1, 1 - episode / 8))
        nxt, reward, done = env.step(action)
        agent.memory.append(Transition(obs, action, reward, nxt, done))
        agent.learn()
        obs, total, steps = nxt, total + reward, steps + 1
        if steps % 40 == 0:
            agent.sync()
        if done:
            break
    if episode % 4 == 3:
        print(episode, round(total, 2))
