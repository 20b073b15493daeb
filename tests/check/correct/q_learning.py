"""Deep Q-learning on a small chain of states, with a replay memory, a target network and exploration."""

import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

random.seed(0)
torch.manual_seed(0)
STATES, ACTIONS = 6, 2
online, target = nn.Linear(STATES, ACTIONS), nn.Linear(STATES, ACTIONS)
target.load_state_dict(online.state_dict())
optimizer = torch.optim.RMSprop(online.parameters(), lr=0.01)
memory = deque(maxlen=500)
state, returns = 0, []
for step in range(60):
    epsilon = max(0.1, 1 - step / 40)
    with torch.no_grad():
        values = online(F.one_hot(torch.tensor(state), STATES).float())
    action = random.randrange(ACTIONS) if random.random() < epsilon else int(values.argmax())
    following = max(0, state - 1) if action == 0 else min(STATES - 1, state + 1)
    reward = 1.0 if following == STATES - 1 else 0.0
    memory.append((state, action, reward, following, following == STATES - 1))
    state = 0 if following == STATES - 1 else following
    returns.append(reward)
    if len(memory) < 16:
        continue
    s, a, r, n, done = zip(*random.sample(memory, 16))
    s, n = (F.one_hot(torch.tensor(v), STATES).float() for v in (s, n))
    a, r, done = torch.tensor(a), torch.tensor(r), torch.tensor(done)
    chosen = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = target(n).max(dim=1).values
        wanted = r + 0.9 * best * (~done)
    loss = F.smooth_l1_loss(chosen, wanted)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(online.parameters(), 1.0)
    optimizer.step()
    if step % 10 == 0:
        target.load_state_dict(online.state_dict())
print(sum(returns), loss.item())
