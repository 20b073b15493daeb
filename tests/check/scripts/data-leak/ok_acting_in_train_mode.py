import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
memory = []
state = torch.randn(1, 3)
for step in range(60):
    action = net(state).argmax(1).item()
    reward = float(action == (state[0, 0] > 0))
    memory.append((state, action, reward))
    state = torch.randn(1, 3)
    if len(memory) >= 16:
        batch = random.sample(memory, 16)
        states = torch.cat([s for s, _, _ in batch])
        actions, rewards = torch.tensor([a for _, a, _ in batch]), torch.tensor([r for _, _, r in batch])
        loss = nn.functional.mse_loss(net(states).gather(1, actions[:, None]).squeeze(1), rewards)
        opt.zero_grad()
        loss.backward()
        opt.step()
