"""A target that is replaced now and then, and slow weights that the fast ones return to."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(80, 4)
model = nn.Linear(4, 1)
target, slow = copy.deepcopy(model), [p.detach().clone() for p in model.parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
step = 0
for _ in range(5):
    for rows in x.split(10):
        optimizer.zero_grad()
        with torch.no_grad():
            wanted = rows[:, :1] + 0.5 * target(rows)
        loss = nn.functional.mse_loss(model(rows), wanted)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 5 == 0:
            target.load_state_dict(model.state_dict())
            with torch.no_grad():
                for s, p in zip(slow, model.parameters()):
                    s.add_(p - s, alpha=0.8)
                    p.copy_(s)
print(loss.item())
