"""Probabilities where they belong: Categorical(probs=...), BCE, the mean over an ensemble, then its logarithm."""

import torch
from torch import nn
from torch.distributions import Bernoulli, Categorical
from torch.nn import functional as F

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
switch = nn.Linear(4, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *switch.parameters()], lr=0.01)
states, y = torch.randn(10, 4), torch.randint(0, 3, (10,))
for _ in range(4):
    probs = torch.softmax(policy(states), dim=-1)
    dist = Categorical(probs=probs)
    action = dist.sample()
    on = torch.sigmoid(switch(states))
    loss = -dist.log_prob(action).mean() + F.nll_loss(torch.log(probs), y) + F.cross_entropy(torch.log(probs), y)
    loss = loss - Bernoulli(probs=on).log_prob(torch.ones(10, 1)).mean() + F.binary_cross_entropy(on, torch.ones(10, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
