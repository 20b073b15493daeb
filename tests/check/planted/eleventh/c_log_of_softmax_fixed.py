"""Policy gradient with an entropy bonus by hand."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, s):
        return 60 * self.net(s)


def entropy(logits):
    p = torch.softmax(logits, dim=-1)
    return -(p * torch.log_softmax(logits, dim=-1)).sum(-1)


torch.manual_seed(0)
policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
for step in range(10):
    states = torch.randn(16, 3) * 4
    logits = policy(states)
    action = torch.distributions.Categorical(logits=logits.detach()).sample()
    reward = (action == states.argmax(1)).float()
    logp = torch.log_softmax(logits, -1).gather(1, action[:, None])[:, 0]
    loss = -(logp * (reward - reward.mean())).mean() - 0.01 * entropy(logits).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
