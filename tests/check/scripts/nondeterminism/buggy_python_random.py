"""A replay memory is sampled with Python's random, of which nobody has set the seed."""

import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
q = nn.Linear(3, 2)
optimizer = torch.optim.Adam(q.parameters(), lr=0.01)
memory = deque(maxlen=200)
state = torch.zeros(3)
for step in range(40):
    action = int(q(state).argmax()) if step > 10 else step % 2
    following = torch.tanh(state + (action - 0.5) * torch.tensor([0.3, -0.2, 0.1]))
    memory.append((state, action, float(following.sum()), following))
    state = following.detach()
    if len(memory) < 16:
        continue
    s, a, r, n = zip(*random.sample(memory, 8))  # <- finding
    chosen = q(torch.stack(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        wanted = torch.tensor(r) + 0.9 * q(torch.stack(n)).max(dim=1).values
    loss = nn.functional.smooth_l1_loss(chosen, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
