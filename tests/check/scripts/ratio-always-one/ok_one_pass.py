"""Each sample is used once: a ratio that is one gives the plain policy gradient."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
net = nn.Linear(6, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for iteration in range(4):
    states = torch.randn(96, 6)
    with torch.no_grad():
        actions = Categorical(logits=net(states)).sample()
    gains = (actions == states[:, :4].argmax(1)).float() - 0.25
    for rows in torch.randperm(96).split(32):
        new = Categorical(logits=net(states[rows])).log_prob(actions[rows])
        ratio = (new - new.detach()).exp()
        loss = -torch.min(ratio * gains[rows], ratio.clamp(0.8, 1.2) * gains[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(iteration, loss.item())
