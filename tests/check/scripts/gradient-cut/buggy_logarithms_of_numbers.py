"""The logarithms of probabilities are taken of numbers, and a tensor is made of them."""

import math

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)

pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
opt = torch.optim.Adam(pi.parameters(), lr=1e-2)
rng = np.random.default_rng(0)
baseline = nn.Parameter(torch.zeros(1))
opt.add_param_group({"params": [baseline]})
for episode in range(20):
    logps, rewards = [], []
    s = torch.randn(4)
    for t in range(10):
        p = pi(s).softmax(-1)
        a = rng.choice(
            3, p=p.detach().numpy().astype("float64") / p.detach().numpy().astype("float64").sum()
        )
        logps.append(math.log(p[a].item()))  # <- finding
        rewards.append(float(s[a]))
        s = torch.randn(4)
    G = torch.tensor(np.cumsum(rewards[::-1])[::-1].copy(), dtype=torch.float32)
    adv = G - baseline
    loss = -(torch.tensor(logps) * adv.detach()).mean() + adv.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
