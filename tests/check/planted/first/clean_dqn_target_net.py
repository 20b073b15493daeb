"""DQN on a chain with a target network and a bounded replay buffer."""
import copy
import random
from collections import deque
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
N = 7
eye = torch.eye(N)
q = nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=5e-3)
buffer = deque(maxlen=400)
s, wins = 0, 0
for t in range(1500):
    if random.random() < 0.3:
        a = random.randrange(2)
    else:
        with torch.no_grad():
            a = int(q(eye[s]).argmax())
    s2 = min(N - 1, s + 1) if a else max(0, s - 1)
    done = s2 == N - 1
    buffer.append((s, a, float(done), s2, float(done)))
    wins += done
    s = 0 if done else s2
    if t >= 64 and t % 4 == 0:
        bs, ba, br, bn, bd = map(torch.tensor, zip(*random.sample(buffer, 32)))
        with torch.no_grad():
            y = br + 0.9 * (1 - bd) * target(eye[bn]).amax(1)
        pred = q(eye[bs]).gather(1, ba.unsqueeze(1)).squeeze(1)
        loss = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if t % 50 == 0:
        target.load_state_dict(q.state_dict())
print("goals", wins, "greedy actions", q(eye).argmax(1).tolist())
