"""Q-learning on a chain; the target network is a copy refreshed now and then."""
import copy
import torch
from torch import nn

N, GAMMA = 6, 0.9


class Learner:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(N, 48), nn.Tanh(), nn.Linear(48, 2))
        self.target = copy.copy(self.online)  # BUG param-shared
        self.opt = torch.optim.SGD(self.online.parameters(), lr=0.1)
        self.lags = []

    def step(self, s, a, r, s2, done):
        with torch.no_grad():
            best = self.target(s2).max(1).values  # BUG param-shared
        goal = r + GAMMA * best * (1 - done)
        pred = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.mse_loss(pred, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.lags.append((self.online[0].weight - self.target[0].weight).abs().max().item())
        return loss.item()

    def refresh(self):
        self.target.load_state_dict(self.online.state_dict())


torch.manual_seed(0)
eye = torch.eye(N)
agent = Learner()
for it in range(700):
    pos = torch.randint(0, N - 1, (64,))
    act = torch.randint(0, 2, (64,))
    nxt = (pos + act * 2 - 1).clamp(0)
    done = (nxt == N - 1).float()
    loss = agent.step(eye[pos], act, done, eye[nxt], done)
    if it % 50 == 49:
        agent.refresh()
with torch.no_grad():
    print("values", [round(v, 2) for v in agent.online(eye[:-1]).max(1).values.tolist()])
print("true  ", [round(GAMMA ** (N - 2 - i), 2) for i in range(N - 1)])
print("largest lag of the target network", round(max(agent.lags), 5))
