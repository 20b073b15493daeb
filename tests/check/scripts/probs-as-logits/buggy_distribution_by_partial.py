from functools import partial

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3), nn.Softmax(-1))
choose = partial(Categorical, None)  # <- finding
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for step in range(8):
    s = torch.randn(32, 4)
    chosen = choose(policy(s))
    a = chosen.sample()
    loss = -(chosen.log_prob(a) * ((a == 0).float() - 0.3)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
