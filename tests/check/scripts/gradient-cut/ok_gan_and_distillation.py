"""Cuts on purpose: the critic's step does not reach the generator, the teacher is not trained, the actor does not move the value."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for step in range(6):
    fake = G(torch.randn(8, 2))
    d_loss = F.softplus(-D(torch.randn(8, 2))).mean() + F.softplus(D(fake.detach())).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()
    if step % 3 == 2:
        opt_g.zero_grad()
        F.softplus(-D(fake)).mean().backward()
        opt_g.step()

teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(8, 4)
    with torch.no_grad():
        soft = teacher(x).softmax(1)
    loss = F.kl_div(student(x).log_softmax(1), soft, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()

trunk, actor, critic = nn.Linear(3, 8), nn.Linear(8, 2), nn.Linear(8, 1)
opt = torch.optim.Adam([*trunk.parameters(), *actor.parameters(), *critic.parameters()], lr=0.01)
for step in range(4):
    hidden = torch.tanh(trunk(torch.randn(8, 3)))
    policy = torch.distributions.Categorical(logits=actor(hidden))
    action = policy.sample()
    returns = action.float() + 0.1 * torch.randn(8)
    value = critic(hidden).squeeze(1)
    advantage = returns - value.detach()
    loss = -(policy.log_prob(action) * advantage).mean() + F.mse_loss(value, returns)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
