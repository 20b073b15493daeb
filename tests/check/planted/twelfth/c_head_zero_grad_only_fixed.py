"""Fine-tuning: the trunk learns slowly, the head fast."""

import torch
from torch import nn

torch.manual_seed(1)
X = torch.randn(192, 20)
Y = (X[:, :3].sum(1) > 0).long() + (X[:, 3:6].sum(1) > 0).long()

trunk = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
head = nn.Linear(32, 3)
opt = torch.optim.SGD(
    [
        {"params": trunk.parameters(), "lr": 0.01},
        {"params": head.parameters(), "lr": 0.1},
    ],
    momentum=0.9,
)

for step in range(60):
    idx = torch.randint(0, 192, (48,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(head(trunk(X[idx])), Y[idx])
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, round(loss.item(), 4))
