import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)


class Line:
    """Walk on 7 cells, start in the middle; right end pays 1, left end pays -1."""

    def reset(self):
        self.s, self.t = 3, 0
        return self.s

    def step(self, a):
        self.s += 1 if a == 1 else -1
        self.t += 1
        done = self.s in (0, 6)
        return self.s, {0: -1.0, 6: 1.0}.get(self.s, 0.0), done


def one_hot(states):
    return F.one_hot(torch.tensor(states), 7).float()


memory, env = [], Line()
for _ in range(80):
    s, done = env.reset(), False
    while not done and env.t < 30:
        a = random.randrange(2)
        n, r, done = env.step(a)
        memory.append((s, a, r, n, float(done)))
        s = n

q_net = nn.Sequential(nn.Linear(7, 32), nn.Tanh(), nn.Linear(32, 2))
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)

for update in range(200):
    s, a, r, n, d = zip(*random.sample(memory, 32))
    q = q_net(one_hot(s)).gather(1, torch.tensor(a).unsqueeze(1))
    with torch.no_grad():
        q_next = target_net(one_hot(n)).max(dim=1)[0]
        target = torch.tensor(r) + 0.95 * (1 - torch.tensor(d)) * q_next
    loss = F.smooth_l1_loss(q, target.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 25 == 0:
        target_net.load_state_dict(q_net.state_dict())
    if update % 50 == 49:
        print(f"update {update + 1} loss {loss.item():.4f}")

with torch.no_grad():
    print(q_net(one_hot(list(range(1, 6)))))
