"""A replay buffer, the last few states, and outputs that each epoch collects anew."""

import collections
import copy
import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 1e-2)
replay, states, history = [], collections.deque(maxlen=5), []
for epoch in range(4):
    outs = []
    for step in range(40):
        new = torch.randn(64, 64)
        replay.append(new)
        x = torch.cat(random.sample(replay, min(2, len(replay))))
        out = net(x)
        loss = (out - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        outs.append(x.detach().numpy().copy())
        states.append(copy.deepcopy(net.state_dict()))
        history.append(loss.item())
    print(sum(o.mean() for o in outs))
